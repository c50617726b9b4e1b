package actors_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestCase41PlainTurnCompletes(t *testing.T) {
	o := scripted.Strict(scripted.New(scripted.Step{Text: "hello", Usage: &sessions.Usage{InputTokens: 3, OutputTokens: 2}}))
	w := world(t, o, nil)
	at := actortest.Key("a")
	call := w.Send(at, "hi")
	took := call.Accepted()
	r := call.Reply()
	require.Nil(t, r.Err)
	require.Equal(t, "hello", sessions.TextOf(r.Final.Content))
	require.Equal(t, took.SessionID, r.SessionID)
	require.False(t, r.Duplicate)

	turn := w.Turns(at)[0]
	require.Equal(t, sessions.TurnIsCompleted, turn.Status)
	require.Equal(t, turn, r.Turn, "the reply shows the turn as it is stored")
	require.Equal(t, 1, turn.Iterations)
	require.Equal(t, sessions.Usage{InputTokens: 3, OutputTokens: 2, Calls: 1}, turn.Usage)
	s := w.Session(at)
	require.Equal(t, sessions.StatusIdle, s.Status)
	require.Equal(t, int64(1), s.TurnCount)
	require.Nil(t, s.LastError)
	require.Equal(t, []sessions.FrameType{
		sessions.FrameAccepted, sessions.FrameStarted, sessions.FrameMessage,
		sessions.FrameText, sessions.FrameUsage, sessions.FrameMessage, sessions.FrameCompleted,
	}, typesOf(w.Frames(at)))
	require.Equal(t, took.Cursor, w.Frames(at)[2].Cursor)

	seen := o.Requests()[0]
	require.Equal(t, "Be brief.", seen.System)
	require.Len(t, seen.Messages, 1)
}

func TestStreamShowsTheWholeTurn(t *testing.T) {
	w := world(t, script(calls("/t/one"), text("done")), mounts{"/t/one": output(`1`)})
	at := actortest.Key("a")
	stream := w.System.Feed().NewStream()
	defer stream.Close()
	call := w.Send(at, "work", actortest.Following(stream))
	var numbered []sessions.Frame
	deltas := ""
	for {
		f, err := stream.Next(t.Context())
		require.NoError(t, err)
		if d, ok := f.Body.(sessions.Delta); ok {
			deltas += d.Text
			continue
		}
		numbered = append(numbered, f)
		if f.Type().Terminal() {
			break
		}
	}
	require.Equal(t, "done", deltas)
	require.Equal(t, "done", call.Completed())
	stored, err := json.Marshal(w.Frames(at))
	require.NoError(t, err)
	streamed, err := json.Marshal(numbered)
	require.NoError(t, err)
	require.JSONEq(t, string(stored), string(streamed))
}

func TestToolTurn(t *testing.T) {
	o := script(scripted.Step{Text: "let me look", Calls: []scripted.Call{{Path: sessions.FunctionName("/t/one"), Args: `{"q": "x"}`}, {Path: "/t/two"}}}, text("done"))
	w := world(t, o, mounts{"/t/one": output(`{"found": true}`), "/t/two": output(``), "/other": output(`0`)})
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	history := w.History(at)
	require.Len(t, history, 5)
	require.Equal(t, "/t/one", history[1].ToolCalls[0].Path)
	require.JSONEq(t, `{"q":"x"}`, string(history[1].ToolCalls[0].Args))
	require.JSONEq(t, `{"found":true}`, string(history[2].Content[0].Value))
	require.JSONEq(t, `null`, string(history[3].Content[0].Value))
	require.Equal(t, []sessions.FrameType{
		sessions.FrameAccepted, sessions.FrameStarted, sessions.FrameMessage,
		sessions.FrameText, sessions.FrameUsage, sessions.FrameMessage, sessions.FrameToolCall, sessions.FrameToolCall,
	}, typesOf(w.Frames(at))[:8])
	require.Equal(t, 2, w.Turns(at)[0].Iterations)
	shown := o.Requests()[0].Tools
	require.Len(t, shown, 2)
	require.Equal(t, "/t/one", shown[0].Path)
	require.Equal(t, sessions.FunctionName("/t/one"), shown[0].Name)
}

func TestTurnsFollowEachOther(t *testing.T) {
	o := script(calls("/t/one"), text("done"))
	w := world(t, o, mounts{"/t/one": output(`1`)})
	at := actortest.Key("a")
	for range 5 {
		require.Equal(t, "done", w.Say(at, "work"))
		require.Equal(t, "fine", w.Say(at, "thanks"))
	}
	require.Len(t, w.History(at), 5*(4+2))
	require.Equal(t, int64(10), w.Session(at).TurnCount)
	last := o.Requests()[len(o.Requests())-1]
	require.Len(t, last.Messages, 5*(4+2)-1)
}

func TestSessionsAreApart(t *testing.T) {
	o := script(text("done"))
	w := world(t, o, nil)
	a, b := actortest.Key("a"), actortest.Key("b")
	w.Say(a, "one")
	w.Say(b, "two")
	require.NotEqual(t, w.Session(a).ID, w.Session(b).ID)
	require.Len(t, w.History(a), 2)
	require.Len(t, w.History(b), 2)
}
