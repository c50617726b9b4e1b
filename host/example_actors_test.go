package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"agenthost/actors"
	"agenthost/host"
	"agenthost/oracle/offline"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// A program that is an actor system itself sends its prompts as messages to the
// root's PID, and hears of the accept and of the end on channels of its own.
func ExampleHost_System() {
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
	h, err := host.New(store, map[string]host.Profile{"default": {Oracle: offline.New()}}, host.Config{})
	if err != nil {
		panic(err)
	}
	defer h.Stop()
	if err := h.Start(ctx); err != nil {
		panic(err)
	}

	accepted := make(chan actors.PromptAccepted, 1)
	reply := make(chan actors.PromptReply, 1)
	system := h.System()
	system.ActorSystem().Root.Send(system.Root(), &actors.Prompt{
		Owner:   sessions.LocalOwner,
		At:      sessions.Address{Key: sessions.Key{Target: "order-7", Profile: "default"}},
		Request: sessions.Request{ID: "request-1"},
		Content: sessions.Text("How many messages are there?"),

		Accepted: accepted,
		Reply:    reply,
	})
	fmt.Println("stored:", (<-accepted).Turn.RequestID)
	end := <-reply
	if end.Err != nil {
		panic(end.Err)
	}
	fmt.Println(sessions.TextOf(end.Final.Content))
	// Output:
	// stored: request-1
	// There are 1 messages: 1 from you, 0 from me, 0 tool results.
}
