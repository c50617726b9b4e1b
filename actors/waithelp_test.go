package actors_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/sessions"
)

// guarded lets the tools below /t/guarded run only when a client approves, and
// gives the profile two tools that clients run.
func guarded(p *actors.Profile) {
	p.NeedsApproval = []string{"/t/guarded"}
	p.ClientTools = []sessions.ClientTool{
		{Path: "/ui/pick", Description: "lets the user pick", Schema: json.RawMessage(`{"type":"object","properties":{"of":{"type":"array"}}}`)},
		{Path: "/ui/ask", Description: "asks the user"},
	}
}

// waitingWork starts a turn in a session and waits until it waits for clients. It
// returns the prompt and what the turn waits for.
func waitingWork(w *actortest.World, at sessions.Address, options ...actortest.Option) (*actortest.Call, []sessions.Pending) {
	w.T.Helper()
	call := w.Send(at, "work", options...)
	call.Accepted()
	return call, awaitWaiting(w, at)
}

// awaitWaiting waits until the session's turn waits, and returns what for.
func awaitWaiting(w *actortest.World, at sessions.Address) []sessions.Pending {
	w.T.Helper()
	w.Eventually(func() bool { return w.Session(at).Status == sessions.StatusWaiting }, "that the turn waits")
	return w.Session(at).Pending
}

// gives is the answer of a client's tool.
func gives(output string) sessions.CallAnswer {
	return sessions.CallAnswer{Output: json.RawMessage(output)}
}

func approves(yes bool) sessions.CallAnswer { return sessions.CallAnswer{Approve: &yes} }

func fails(why string) sessions.CallAnswer { return sessions.CallAnswer{Error: &why} }

// giveAnswer answers a call.
func giveAnswer(w *actortest.World, at sessions.Address, call sessions.CallID, a sessions.CallAnswer) (actors.AnswerReply, error) {
	return w.System.Answer(w.T.Context(), actors.Answer{Owner: actortest.Owner, At: at, Answers: []sessions.GivenAnswer{{CallID: call, Answer: a}}})
}

// mustAnswer answers a call and requires that the answer is taken.
func mustAnswer(w *actortest.World, at sessions.Address, call sessions.CallID, a sessions.CallAnswer) actors.AnswerReply {
	w.T.Helper()
	r, err := giveAnswer(w, at, call, a)
	require.NoError(w.T, err)
	return r
}

// requireNotAnswered requires that an answer is refused with the code.
func requireNotAnswered(w *actortest.World, at sessions.Address, call sessions.CallID, a sessions.CallAnswer, code sessions.Code) {
	w.T.Helper()
	_, err := giveAnswer(w, at, call, a)
	require.Equal(w.T, code, sessions.CodeOf(err), "%v", err)
}

// awaitEvicted waits until the session has no agent.
func awaitEvicted(w *actortest.World, at sessions.Address) {
	w.T.Helper()
	w.Eventually(func() bool { return !w.Resident(at) }, "that the agent has left")
}

// nobodyWaits tells the tree that nobody waits for the prompt's reply.
func nobodyWaits(p *actors.Prompt) {
	gone := make(chan struct{})
	close(gone)
	p.Gone = gone
}

// untilWaiting lets the prompt be answered when its turn waits.
func untilWaiting(p *actors.Prompt) { p.UntilWaiting = true }

// requireOutputs requires the outputs of a step's calls, in order; "" stands for an
// error.
func requireOutputs(t *testing.T, results []sessions.Message, outputs ...string) {
	t.Helper()
	require.Len(t, results, len(outputs))
	for i, want := range outputs {
		if want == "" {
			require.NotNil(t, results[i].Error, "result %d", i)
			continue
		}
		require.Nil(t, results[i].Error, "result %d: %v", i, results[i].Error)
		require.JSONEq(t, want, string(results[i].Content[0].Value), "result %d", i)
	}
}
