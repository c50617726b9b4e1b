// Package host puts an agent session host together: a store, the actor tree,
// and the operations of the `$` protocol as typed methods.
//
//	store, err := sqlite.Open(ctx, "agenthost.db", sqlite.Config{})
//	h, err := host.New(store, map[string]host.Profile{"default": {Oracle: offline.New()}}, host.Config{})
//	err = h.Start(ctx)
//	defer h.Stop()
//	answer, err := h.Prompt(ctx, &api.PromptArgs{Address: api.Address{TargetKey: "order-7"}, Text: "hello"}, nil)
//
// It owns the order of starting and stopping and the meaning of each operation
// beyond what the store and the actors decide: validation, authorization, waits
// and streams. It knows no transport: host/server opens the doors, host/client
// speaks to them.
//
// All methods of Host and Access are safe for concurrent use.
package host
