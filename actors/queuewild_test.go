package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/sessions"
	"agenthost/tools"
)

// A model or a tool that panics, ends its goroutine, or goes on whatever it is
// told, holds up nobody who waits behind it.
func TestWildModelsAndToolsHoldUpNoQueue(t *testing.T) {
	for name, does := range map[string]func(){
		"panic":  func() { panic("a fault of a test") },
		"goexit": runtime.Goexit,
		"ignore": func() {},
	} {
		for _, policy := range []sessions.BusyPolicy{sessions.BusyQueue, sessions.BusySteer, sessions.BusyInterrupt} {
			for _, inTool := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", policy, " in a tool: ", inTool), func(t *testing.T) {
					tryWild(t, policy, inTool, does)
				})
			}
		}
	}
}

func tryWild(t *testing.T, policy sessions.BusyPolicy, inTool bool, does func()) {
	t.Helper()
	reached, release := make(chan struct{}), make(chan struct{})
	wild := func() {
		close(reached)
		<-release
		does()
	}
	o := oracleFunc(func(_ context.Context, r oracle.Request, yield func(oracle.Part, error) bool) {
		switch {
		case isWork(r) && inTool:
			yield(oracle.ToolCall{Function: "/t/wild"}, nil)
			return
		case isWork(r):
			wild()
		}
		yield(oracle.TextDelta{Text: "fine"}, nil)
	})
	seen := newTally()
	w := actortest.New(t, profiles(o), actortest.Config{Config: actors.Config{Observer: seen, Tools: treeOf(t, mounts{
		"/t/wild": invoke(func(context.Context, tools.Call) (json.RawMessage, error) {
			wild()
			return json.RawMessage(`1`), nil
		}),
	})}})
	at := actortest.Key("a")
	first := w.Send(at, "work")
	<-reached
	next := w.Send(at, "next", with(policy))
	next.Accepted()
	if policy == sessions.BusyInterrupt {
		require.Equal(t, "fine", next.Completed(), "it does not wait for the call")
		first.Failed(sessions.CodeCancelled)
		close(release)
	} else {
		close(release)
		require.Equal(t, "fine", next.Completed())
	}
	require.Equal(t, "fine", w.Say(at, "go on"))
	requireNoBusy(t, w)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Equal(t, seen.began, seen.ended)
}
