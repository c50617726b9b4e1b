package actors_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
	"agenthost/tools/subagent"
)

// station is an actor that is a tool: what it does with a call stands in the
// call's arguments.
type station struct {
	calls     chan asked
	cancelled chan string
}

// asked is a call that a station has got, and who waits for it.
type asked struct {
	call tools.Call
	from *actors.PID
}

func newStation() *station {
	return &station{calls: make(chan asked, 10), cancelled: make(chan string, 10)}
}

func (s *station) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actors.CancelTool:
		s.cancelled <- msg.CallID
	case *actors.InvokeTool:
		s.calls <- asked{msg.Call, ctx.Sender()}
		var args struct{ Do string }
		if err := json.Unmarshal(msg.Call.Args, &args); err != nil {
			panic(err)
		}
		reply := &actors.ToolResult{CallID: string(msg.Call.CallID)}
		switch args.Do {
		case "answer":
			reply.Output = json.RawMessage(`{"ok": true}`)
		case "twice":
			reply.Output = json.RawMessage(`1`)
			ctx.Respond(reply)
			reply = &actors.ToolResult{CallID: reply.CallID, Output: json.RawMessage(`2`)}
		case "fail":
			reply.Failure = "out of paper"
		case "panic":
			panic("secret")
		case "die":
			ctx.Stop(ctx.Self())
			return
		case "wait":
			return
		case "other":
			ctx.Respond(&actors.ToolResult{CallID: "nobody's", Output: json.RawMessage(`0`)})
			reply.Output = json.RawMessage(`3`)
		}
		ctx.Respond(reply)
	}
}

// do is a step that asks the station for something.
func do(what ...string) scripted.Step {
	var s scripted.Step
	for _, w := range what {
		s.Calls = append(s.Calls, scripted.Call{Path: "/t/station", Args: `{"do":"` + w + `"}`})
	}
	return s
}

// stationed starts a World with a station mounted. It ends with the test.
func stationed(t *testing.T, s *station, steps ...scripted.Step) (*actortest.World, *actors.PID) {
	t.Helper()
	w := world(t, script(steps...), nil)
	pid := w.System.ActorSystem().Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return s },
		actor.WithGuardian(actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective }))))
	require.NoError(t, w.System.MountPID("/t/station", tools.Spec{Description: "an actor"}, pid))
	return w, pid
}

func TestMountedActor(t *testing.T) {
	s := newStation()
	w, _ := stationed(t, s, do("answer", "fail", "twice", "other"), text("done"))
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	results := requireResultOfEach(t, w, at, 4)
	require.JSONEq(t, `{"ok":true}`, string(results[0].Content[0].Value))
	require.Equal(t, sessions.CodeToolInvokeFailed, results[1].Error.Code)
	require.Equal(t, "out of paper", results[1].Error.Message)
	require.JSONEq(t, `1`, string(results[2].Content[0].Value), "the first answer counts")
	require.JSONEq(t, `3`, string(results[3].Content[0].Value))
	call := (<-s.calls).call
	require.Equal(t, "/t/station", call.Path)
	require.Equal(t, w.Session(at).ID, call.SessionID)
	require.Equal(t, w.Turns(at)[0].TurnID, call.TurnID)
	require.Equal(t, actortest.Owner, call.Owner)
}

func TestMountedActorThatEndsInMidCall(t *testing.T) {
	for _, how := range []string{"die", "panic"} {
		t.Run(how, func(t *testing.T) {
			w, _ := stationed(t, newStation(), do("wait", how), do("answer"), text("done"))
			at := actortest.Key("a")
			require.Equal(t, "done", w.Say(at, "work"))
			history := w.History(at)
			require.Len(t, history, 7)
			for _, m := range history {
				if m.Role == sessions.RoleTool {
					require.Equal(t, sessions.CodeToolInvokeFailed, m.Error.Code)
					require.NotContains(t, m.Error.Message, "secret")
				}
			}
		})
	}
}

func TestMountedActorIsToldOfACancel(t *testing.T) {
	s := newStation()
	w, _ := stationed(t, s, do("wait"))
	at := actortest.Key("a")
	call := w.Send(at, "work")
	got := <-s.calls
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	require.EqualValues(t, got.call.CallID, <-s.cancelled)
	require.Equal(t, "fine", w.Say(at, "go on"))
}

func TestMountedActorThatTakesTooLong(t *testing.T) {
	s := newStation()
	w := world(t, script(do("wait"), text("done")), nil, func(p *actors.Profile) { p.ToolTimeout = 20 * time.Millisecond })
	pid := w.System.ActorSystem().Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return s }))
	require.NoError(t, w.System.MountPID("/t/station", tools.Spec{}, pid))
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	require.NotEmpty(t, <-s.cancelled)
	require.Equal(t, sessions.CodeToolInvokeFailed, requireResultOfEach(t, w, at, 1)[0].Error.Code)
}

// mounted is what a test has mounted, in the order of the paths.
func mounted(w *actortest.World) []*tools.Mounted {
	return slices.DeleteFunc(w.System.Tools(), func(m *tools.Mounted) bool { return tools.Within(m.Path, subagent.Root) })
}

// A call under way goes on when its tool is unmounted; the next finds nothing.
func TestUnmountInMidCall(t *testing.T) {
	s := newStation()
	w, _ := stationed(t, s, do("wait"), do("answer"), text("done"))
	at := actortest.Key("a")
	call := w.Send(at, "work")
	got := <-s.calls
	require.True(t, w.System.Unmount("/t/station"))
	require.False(t, w.System.Unmount("/t/station"))
	require.Empty(t, mounted(w))
	w.System.ActorSystem().Root.Send(got.from, &actors.ToolResult{CallID: string(got.call.CallID), Output: json.RawMessage(`"late"`)})
	require.Equal(t, "done", call.Completed())
	results := lastResults(w.History(at)[:3])
	require.JSONEq(t, `"late"`, string(results[0].Content[0].Value))
	require.Equal(t, sessions.CodeToolInvokeFailed, lastResults(w.History(at))[0].Error.Code)
	require.Empty(t, s.calls)
}

func TestAPathIsMountedOnceAtATime(t *testing.T) {
	w, pid := stationed(t, newStation(), do("answer"), text("done"))
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(w.System.Mount("/t/station", output(`1`))))
	require.True(t, w.System.Unmount("/t/station"))
	require.NoError(t, w.System.Mount("/t/station", output(`"new"`)))
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	require.JSONEq(t, `"new"`, string(requireResultOfEach(t, w, at, 1)[0].Content[0].Value))
	_, err := mounted(w)[0].Tool.Invoke(t.Context(), tools.Call{})
	require.NoError(t, err)
	require.NoError(t, w.System.MountPID("/t/again", tools.Spec{}, pid))
	again := mounted(w)[0]
	require.Equal(t, "/t/again", again.Path)
	_, err = again.Tool.Invoke(t.Context(), tools.Call{Path: "/t/again"})
	require.Equal(t, sessions.CodeToolInvokeFailed, sessions.CodeOf(err), "an actor is reached by messages")
}
