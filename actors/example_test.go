package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/asynkron/protoactor-go/actor"

	"agenthost/actors"
	"agenthost/oracle/offline"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tools"
)

// counter is an actor that serves as a tool: it counts its calls.
type counter struct{ calls int }

func (c *counter) Receive(ctx actor.Context) {
	if msg, ok := ctx.Message().(*actors.InvokeTool); ok {
		c.calls++
		output, _ := json.Marshal(c.calls) // a number always marshals
		ctx.Respond(&actors.ToolResult{CallID: string(msg.Call.CallID), Output: output})
	}
}

// An actor, mounted by its PID, is a tool that models can call. A host's System
// mounts it in the same way.
func ExampleSystem_MountPID() {
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
	defer store.Close()
	profiles := map[string]actors.Profile{"default": {Oracle: offline.New(), Tools: []string{"/counter"}}}
	system, err := actors.New(store, profiles, actors.Config{})
	if err != nil {
		panic(err)
	}
	defer system.Stop(0)

	pid := system.ActorSystem().Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return &counter{} }))
	if err := system.MountPID("/counter", tools.Spec{Description: "Counts its calls."}, pid); err != nil {
		panic(err)
	}

	for _, request := range []sessions.RequestID{"first", "second"} {
		reply := make(chan actors.PromptReply, 1)
		system.Prompt(&actors.Prompt{
			Owner:   sessions.LocalOwner,
			At:      sessions.Address{Key: sessions.Key{Target: "order-7", Profile: "default"}},
			Request: sessions.Request{ID: request},
			Content: sessions.Text("/call counter {}"),
			Reply:   reply,
		})
		fmt.Println(sessions.TextOf((<-reply).Final.Content))
	}
	// Output:
	// /counter answered 1
	// /counter answered 2
}
