package races

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/agentsv1"
	"agenthost/host/api"
	"agenthost/sessions"
)

// TestAgentsRaces races the input of the Agents API with its DELETE, which takes
// settled sessions only: of the two exactly one is done.
func TestAgentsRaces(t *testing.T) { raceAgents(t, fewRounds) }

// faceOp is an input event that races with a DELETE.
type faceOp struct {
	name string
	// begin makes the session.
	begin func(r *faceRound)
	event func(r *faceRound) string
	// lined says that a DELETE behind the op stands in the writer's line; one of a
	// session that is not settled is refused before.
	lined bool
}

var faceOps = []faceOp{
	{
		name: "a message", lined: true,
		begin: func(r *faceRound) { must(r.house, prompt, &api.PromptArgs{Address: r.at(), Text: r.text("old")}) },
		event: func(r *faceRound) string {
			return fmt.Sprintf(`{"type":"agent.session.input.message","input":[{"role":"user","content":[{"type":"input_text","text":%q}]}]}`, r.text("held"))
		},
	},
	{
		name:  "a tool result",
		begin: (*faceRound).awaitClient,
		event: func(r *faceRound) string {
			return fmt.Sprintf(`{"type":"agent.session.input.tool_result","call_id":%q,"turn_id":%q,"success":true,"output":%q}`,
				r.call, r.turn, r.text("held"))
		},
	},
}

// faceRound is one race by the Agents API.
type faceRound struct {
	*round
	door http.Handler
	turn sessions.TurnID // that waits for a tool result
	call sessions.CallID
}

// raceAgents runs each race so many times in each order.
func raceAgents(t *testing.T, rounds int) {
	t.Helper()
	for _, o := range faceOps {
		for _, in := range []order{opFirst, deleteFirst, freely} {
			t.Run(fmt.Sprintf("%s comes %s to a DELETE", o.name, in), func(t *testing.T) {
				t.Parallel()
				h := open(t)
				door := agentsv1.New(h.host, agentsv1.Config{})
				for n := range rounds {
					h.beginFace(n, door, o).race(o, in)
				}
				require.NotContains(t, h.rows(), mark)
			})
		}
	}
}

func (h *house) beginFace(n int, door http.Handler, o faceOp) *faceRound {
	h.t.Helper()
	r := &faceRound{round: &round{house: h, n: n}, door: door}
	r.target = r.id("session")
	r.root = r.target
	must(h, (*host.Access).SessionCreate, &api.SessionCreateArgs{Address: r.at()})
	o.begin(r)
	r.letGo = h.gates.closeFor(r.text("held"))
	return r
}

// awaitClient lets the session's turn wait for a tool that the client runs.
func (r *faceRound) awaitClient() {
	got := must(r.house, prompt, &api.PromptArgs{
		Address: r.at(), Text: r.text(asksClient), Wait: api.WaitPending,
		ClientTools: []sessions.ClientTool{{Path: clientTool, Description: "Looks."}},
	})
	require.Len(r.t, got.Pending, 1)
	r.turn, r.call = got.TurnID, got.Pending[0].CallID
}

// race runs both sides and judges what became of them.
func (r *faceRound) race(o faceOp, in order) {
	var acted, removed int
	opDone, deleteDone := make(chan struct{}), make(chan struct{})
	act := func() {
		defer close(opDone)
		acted = r.send(http.MethodPost, "/events", `{"events":[`+o.event(r)+`]}`)
	}
	remove := func() {
		defer close(deleteDone)
		removed = r.send(http.MethodDelete, "", "")
	}
	unchanged := func() {}
	switch {
	case in == freely:
		r.together(act, remove)
	case !o.lined && in == opFirst:
		act()
		remove()
	case !o.lined:
		was := r.stored()
		remove()
		require.Equal(r.t, was, r.stored(), "a DELETE that is refused changes nothing")
		act()
	case in == opFirst:
		unchanged = r.inOrder(act, remove, true, false)
	default:
		unchanged = r.inOrder(remove, act, false, true)
	}
	<-deleteDone
	if removed == http.StatusConflict {
		unchanged()
	}
	<-opDone
	r.judge(o, in, acted, removed)
}

// judge requires that exactly one side won, and removes what is left.
func (r *faceRound) judge(o faceOp, in order, acted, removed int) {
	r.t.Helper()
	inputWon := acted == http.StatusAccepted && removed == http.StatusConflict
	deleteWon := acted == http.StatusNotFound && removed == http.StatusOK
	require.True(r.t, inputWon || deleteWon, "the input got %d, the DELETE %d", acted, removed)
	require.False(r.t, deleteWon && (in == opFirst || !o.lined), "the DELETE of a session that is not settled")
	require.False(r.t, inputWon && o.lined && in == deleteFirst, "the input of a session that was deleted before")
	r.letGo()
	if inputWon {
		_, code := ask(r.house, (*host.Access).Turn, &api.TurnArgs{Address: r.at(), TurnID: r.lastTurn(), Wait: api.WaitDone})
		require.Empty(r.t, code)
		require.Equal(r.t, http.StatusOK, r.send(http.MethodDelete, "", ""), "it is settled now")
	}
	require.Equal(r.t, http.StatusOK, r.send(http.MethodDelete, "", ""), "a repeat says the same")
	require.Equal(r.t, http.StatusNotFound, r.send(http.MethodGet, "", ""))
}

func (r *faceRound) lastTurn() sessions.TurnID {
	r.t.Helper()
	return must(r.house, (*host.Access).Turns, &api.TurnsArgs{Address: r.at()}).Turns[0].TurnID
}

// send makes a request about the session and returns the status of its answer.
func (r *faceRound) send(method, path, body string) int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, method, "/v1/agents/sessions/"+string(r.target)+path, strings.NewReader(body))
	request.Header.Set("OpenAI-Beta", "agents=v1")
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	r.door.ServeHTTP(answer, request)
	return answer.Code
}
