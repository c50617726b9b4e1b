// Package hosttest runs a whole host for a test: a store in a temporary folder,
// profiles, tools, and the doors on a loopback port.
//
//	h := hosttest.New(t, hosttest.Options{})
//	answer, err := h.Prompt(t.Context(), &api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "hi"}, nil)
//
// Besides the host's own methods and a client it gives raw ways in, for tests
// that look at the wire itself: Socket, Post and Events. What takes longer than
// Patience fails the test. Everything ends with the test, goroutines included.
//
// A Host and what comes of it belong to the test's goroutine, except for the
// methods of the host and the client, which are safe for concurrent use.
package hosttest
