package actors_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// cutAndReopen stops a World in mid turn, and starts another over its store that
// takes up what is left.
func cutAndReopen(t *testing.T, w *actortest.World, p actortest.Profiles, tree *tools.Tree) *actortest.World {
	t.Helper()
	w.Close()
	again := actortest.New(t, p, actortest.Config{Path: w.Path, Config: actors.Config{Tools: tree}})
	require.NoError(t, again.System.Recover(t.Context()))
	return again
}

func TestATurnCutInItsModelCallGoesOn(t *testing.T) {
	w := actortest.Open(t, profiles(script(scripted.Step{Text: "half a", Hang: true})), actortest.Config{})
	at := actortest.Key("a")
	call := w.Send(at, "work", actortest.As("r"))
	call.Accepted()
	w = cutAndReopen(t, w, profiles(script(text("whole"))), nil)
	again := w.Send(at, "work", actortest.As("r")).Reply()
	require.Nil(t, again.Err)
	require.True(t, again.Duplicate)
	require.Equal(t, "whole", sessions.TextOf(again.Final.Content))
	call.Failed(sessions.CodeHostStopping)
	require.Len(t, w.History(at), 2)
	require.Equal(t, "fine", w.Say(at, "go on"))
}

// case 08, case 12: what finished before the stop is kept; what may not be run
// twice ends the turn, and its session takes the next prompt.
func TestCase08ATurnCutInATool(t *testing.T) {
	started := make(chan struct{}, 1)
	steps := []scripted.Step{calls("/t/one", "/t/hang", "/t/two"), text("done")}
	w := actortest.Open(t, profiles(script(steps...)), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/one": output(`1`), "/t/two": output(`2`), "/t/hang": hang(started)}),
	}})
	at := actortest.Key("a")
	stream := w.System.Feed().NewStream()
	w.Send(at, "work", actortest.As("r"), actortest.Following(stream)).Accepted()
	for results := 0; results < 2; {
		f, err := stream.Next(t.Context())
		require.NoError(t, err)
		if f.Type() == sessions.FrameToolResult {
			results++
		}
	}
	<-started
	stream.Close()
	tree := treeOf(t, mounts{"/t/one": output(`"again"`), "/t/two": output(`"again"`), "/t/hang": output(`"again"`)})
	w = cutAndReopen(t, w, profiles(script(steps...)), tree)
	again := w.Send(at, "work", actortest.As("r")).Failed(sessions.CodeHostRestarted)
	require.Equal(t, sessions.TurnIsInterrupted, again.Turn.Status)
	results := requireResultOfEach(t, w, at, 3)
	require.JSONEq(t, `1`, string(results[0].Content[0].Value))
	require.Equal(t, sessions.CodeCancelled, results[1].Error.Code)
	require.JSONEq(t, `2`, string(results[2].Content[0].Value))
	require.Equal(t, "fine", w.Say(at, "go on"))
	_, busy := w.System.Counts()
	require.Zero(t, busy)
}

// repeatable is a tool that may be run twice.
type repeatable struct{ invoke }

func (repeatable) Spec() tools.Spec { return tools.Spec{Repeatable: true} }

func TestATurnCutInARepeatableToolGoesOn(t *testing.T) {
	started := make(chan struct{}, 1)
	steps := []scripted.Step{calls("/t/one", "/t/again"), text("done")}
	w := actortest.Open(t, profiles(script(steps...)), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/one": output(`1`), "/t/again": repeatable{hang(started)}}),
	}})
	at := actortest.Key("a")
	stream := w.System.Feed().NewStream()
	w.Send(at, "work", actortest.As("r"), actortest.Following(stream)).Accepted()
	for f := (sessions.Frame{Body: sessions.Started{}}); f.Type() != sessions.FrameToolResult; {
		var err error
		f, err = stream.Next(t.Context())
		require.NoError(t, err)
	}
	<-started
	stream.Close()
	tree := treeOf(t, mounts{"/t/one": output(`"not again"`), "/t/again": repeatable{output(`"again"`)}})
	w = cutAndReopen(t, w, profiles(script(steps...)), tree)
	again := w.Send(at, "work", actortest.As("r")).Reply()
	require.Nil(t, again.Err)
	require.Equal(t, "done", sessions.TextOf(again.Final.Content))
	results := requireResultOfEach(t, w, at, 2)
	require.JSONEq(t, `1`, string(results[0].Content[0].Value))
	require.JSONEq(t, `"again"`, string(results[1].Content[0].Value))
}

// A repeatable tool whose arguments do not fit any more cannot be run again.
func TestATurnCutInAToolThatHasChanged(t *testing.T) {
	type args struct {
		Must string `json:"must"`
	}
	started := make(chan struct{}, 1)
	steps := []scripted.Step{calls("/t/again"), text("done")}
	w := actortest.Open(t, profiles(script(steps...)), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/again": repeatable{hang(started)}}),
	}})
	at := actortest.Key("a")
	w.Send(at, "work", actortest.As("r")).Accepted()
	<-started
	changed := tools.MustFunc("changed", func(context.Context, tools.Call, args) (json.RawMessage, error) { return nil, nil }, tools.Repeatable())
	w = cutAndReopen(t, w, profiles(script(steps...)), treeOf(t, mounts{"/t/again": changed}))
	w.Send(at, "work", actortest.As("r")).Failed(sessions.CodeHostRestarted)
	requireResultOfEach(t, w, at, 1)
	require.Equal(t, "fine", w.Say(at, "go on"))
}

func TestATurnWhoseProfileIsGone(t *testing.T) {
	w := actortest.Open(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{})
	at := actortest.Key("a")
	w.Send(at, "work", actortest.As("r")).Accepted()
	w = cutAndReopen(t, w, actortest.Profiles{"other": {Oracle: script()}}, nil)
	w.Send(at, "work", actortest.As("r")).Failed(sessions.CodeHostRestarted)
	require.Equal(t, sessions.TurnIsInterrupted, w.Turns(at)[0].Status)
}

// More turns than may start at a time: all of them come to their end, and can be
// cancelled and deleted meanwhile.
func TestManyTurnsAreTakenUp(t *testing.T) {
	w := actortest.Open(t, profiles(script(scripted.Step{Hang: true})), actortest.Config{})
	const turns = 100
	key := func(i int) sessions.Address { return actortest.Key(string(rune('A' + i))) }
	for i := range turns {
		w.Send(key(i), "work", actortest.As(sessions.RequestID(rune('A'+i)))).Accepted()
	}
	gate := make(chan struct{})
	w = cutAndReopen(t, w, profiles(script(scripted.Step{Gate: gate, Text: "done"})), nil)
	w.Eventually(func() bool {
		_, busy := w.System.Counts()
		return busy == turns
	}, "that every turn has its agent")
	require.True(t, w.Cancel(key(0)))
	require.EqualValues(t, 1, w.Delete(key(1)).Receipt.Sessions)
	close(gate)
	for i := range turns {
		r := w.Send(key(i), "work", actortest.As(sessions.RequestID(rune('A'+i)))).Reply()
		switch i {
		case 0:
			require.Equal(t, sessions.CodeCancelled, r.Err.Code)
		case 1:
			require.Equal(t, sessions.CodeSessionDeleted, r.Err.Code)
		default:
			require.Nil(t, r.Err)
			require.Equal(t, "done", sessions.TextOf(r.Final.Content))
		}
	}
	_, busy := w.System.Counts()
	require.Zero(t, busy)
}
