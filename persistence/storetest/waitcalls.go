package storetest

import (
	"encoding/json"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// clientCall returns a call of a client's tool that a turn could wait for.
func (w *world) clientCall(id, args string) sessions.Pending {
	return sessions.Pending{CallID: sessions.CallID(id), Kind: sessions.PendingClientTool, Path: "/client/" + id,
		Args: json.RawMessage(args), Since: w.now}
}

// approval returns a call that a turn could wait to be allowed.
func (w *world) approval(id string) sessions.Pending {
	p := w.clientCall(id, `{}`)
	p.Kind = sessions.PendingApproval
	return p
}

// awaiting returns a step of an accepted turn that lets it wait, with the message
// that has the calls as its next.
func (w *world) awaiting(a sessions.AcceptedTurn, calls ...sessions.Pending) sessions.CommitTurn {
	w.t.Helper()
	asks := sessions.Message{Seq: w.get(addressOf(a.Session)).MessageCount + 1, Role: sessions.RoleAssistant}
	for _, p := range calls {
		asks.ToolCalls = append(asks.ToolCalls, sessions.ToolCall{ID: p.CallID, Path: p.Path, Args: p.Args})
	}
	c := w.step(a)
	c.Messages, c.Frames, c.Wait = []sessions.Message{asks}, []sessions.FrameBody{sessions.MessageAppended{Message: asks}}, calls
	return c
}

// await requires that an accepted turn waits.
func (w *world) await(a sessions.AcceptedTurn, calls ...sessions.Pending) sessions.CommittedTurn {
	w.t.Helper()
	return w.commit(w.awaiting(a, calls...))
}

// goOn requires that a turn that waits goes on, with the results of calls.
func (w *world) goOn(a sessions.AcceptedTurn, results ...sessions.CallID) sessions.CommittedTurn {
	w.t.Helper()
	c := w.step(a)
	c.GoOn = true
	next := w.get(addressOf(a.Session)).MessageCount + 1
	for i, id := range results {
		m := sessions.Message{Seq: next + int64(i), Role: sessions.RoleTool, ToolCallID: id, Content: sessions.Text("result")}
		c.Messages, c.Frames = append(c.Messages, m), append(c.Frames, sessions.MessageAppended{Message: m})
	}
	return w.commit(c)
}

// give sends an answer to a call.
func (w *world) give(s sessions.Session, id sessions.CallID, a sessions.CallAnswer) (sessions.AnsweredCalls, error) {
	w.t.Helper()
	return w.store.AnswerCalls(w.t.Context(), sessions.AnswerCalls{Owner: owner, At: addressOf(s), Answers: []sessions.GivenAnswer{{CallID: id, Answer: a}}, Now: w.now})
}

// answered requires that an answer is stored.
func (w *world) answered(s sessions.Session, id sessions.CallID, a sessions.CallAnswer) sessions.AnsweredCalls {
	w.t.Helper()
	got, err := w.give(s, id, a)
	require.NoError(w.t, err)
	require.False(w.t, got.Repeat)
	return got
}

// repeated requires that an answer is known already.
func (w *world) repeated(s sessions.Session, id sessions.CallID, a sessions.CallAnswer) sessions.AnsweredCalls {
	w.t.Helper()
	got, err := w.give(s, id, a)
	require.NoError(w.t, err)
	require.True(w.t, got.Repeat)
	require.Empty(w.t, got.Frames)
	require.Equal(w.t, w.get(addressOf(s)), got.Session)
	return got
}

// refusedAnswer requires that an answer is refused, and changes nothing.
func (w *world) refusedAnswer(code sessions.Code, s sessions.Session, id sessions.CallID, a sessions.CallAnswer) {
	w.t.Helper()
	before := w.get(addressOf(s))
	_, err := w.give(s, id, a)
	requireCode(w.t, code, err)
	require.Equal(w.t, before, w.get(addressOf(s)))
}

// waited returns what a turn waits for.
func (w *world) waited(a sessions.AcceptedTurn) sessions.WaitedCalls {
	w.t.Helper()
	got, err := w.store.WaitedCalls(w.t.Context(), a.Session.Fence.Incarnation, a.Turn.TurnID)
	require.NoError(w.t, err)
	return got
}

func output(raw string) sessions.CallAnswer { return sessions.CallAnswer{Output: json.RawMessage(raw)} }

func refusal(why string) sessions.CallAnswer { return sessions.CallAnswer{Error: &why} }

func verdict(approve bool) sessions.CallAnswer { return sessions.CallAnswer{Approve: &approve} }
