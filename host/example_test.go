package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/oracle/offline"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tools"
)

// A program that embeds the host, with a tool of its own.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "agenthost")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)

	store, err := sqlite.Open(ctx, filepath.Join(folder, "agenthost.db"), sqlite.Config{})
	if err != nil {
		panic(err)
	}
	type order struct {
		Number int `json:"number" jsonschema:"the order's number"`
	}
	tree := &tools.Tree{}
	err = tree.Mount("/orders/status", tools.MustFunc("Says where an order is.",
		func(_ context.Context, _ tools.Call, o order) (string, error) {
			return fmt.Sprintf("order %d is on its way", o.Number), nil
		}))
	if err != nil {
		panic(err)
	}
	profiles := map[string]host.Profile{"default": {Oracle: offline.New(), Tools: []string{"/orders"}}}
	h, err := host.New(store, profiles, host.Config{Tools: tree})
	if err != nil {
		panic(err)
	}
	defer h.Stop()
	if err := h.Start(ctx); err != nil {
		panic(err)
	}

	answer, err := h.Prompt(ctx, &api.PromptArgs{
		Address: api.Address{TargetKey: "customer-7"},
		Text:    `/call orders/status {"number": 7}`,
	}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(sessions.TextOf(answer.Message.Content))
	// Output: /orders/status answered "order 7 is on its way"
}
