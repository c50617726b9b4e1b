package agentsv1

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// post sends events under a key, and returns the answer's status.
func (w *world) post(id, key, events string) int {
	w.t.Helper()
	return w.plain("POST", "/v1/agents/sessions/"+id+"/events", `{"events":[`+events+`]}`, http.Header{"Idempotency-Key": {key}}).StatusCode
}

func toolResult(call, turn, output string) string {
	return `{"type":"agent.session.input.tool_result","call_id":"` + call + `","turn_id":"` + turn + `","success":true,"output":"` + output + `"}`
}

// A call may wait for leave and then for its client, under one id. What was leave is
// never taken for the call's output, however often it comes again.
func TestALeaveThatIsGivenAgain(t *testing.T) {
	w := atDesk(t, playing(scripted.Step{Calls: []scripted.Call{calling("/desk/look", `{}`)}}, scripted.Step{Text: "done"}), nil, "/desk")
	id := w.made("hi", "requires_action")
	leave := w.until(id, "requires_action").RequiredActions[0]
	result := toolResult(leave.CallID, leave.TurnID, "yes")
	require.Equal(t, 202, w.post(id, "leave", result))
	pending := func() []sessions.Pending {
		got, err := w.host.SessionGet(w.ctx(), &api.SessionGetArgs{Address: api.Address{SessionID: sessions.SessionID(id)}})
		require.NoError(t, err)
		return got.Session.Pending
	}
	require.Eventually(t, func() bool {
		calls := pending()
		return len(calls) == 1 && calls[0].Kind == sessions.PendingClientTool
	}, patience, 5*time.Millisecond)
	for range 3 {
		require.Equal(t, 202, w.post(id, "leave", result))
		require.Len(t, pending(), 1)
	}
	require.Equal(t, 409, w.post(id, "leave", toolResult(leave.CallID, leave.TurnID, "no")))
	require.Equal(t, 202, w.post(id, "output", toolResult(leave.CallID, leave.TurnID, "a lamp")))
	w.until(id, "idle")
	for range 2 {
		require.Equal(t, 202, w.post(id, "leave", result))
		require.Equal(t, 202, w.post(id, "output", toolResult(leave.CallID, leave.TurnID, "a lamp")))
	}
	require.Contains(t, w.items(id)[2].RawJSON(), "a lamp")
}

// Equal results that come at once are one.
func TestResultsThatComeTogether(t *testing.T) {
	w := newWorld(t, everyState())
	for range 20 {
		id := w.made("ask", "requires_action")
		call := w.until(id, "requires_action").RequiredActions[0]
		var all sync.WaitGroup
		statuses := make([]int, 6)
		for i := range statuses {
			all.Go(func() { statuses[i] = w.post(id, "k"+id, toolResult(call.CallID, call.TurnID, "x")) })
		}
		all.Wait()
		require.Equal(t, []int{202, 202, 202, 202, 202, 202}, statuses)
		w.until(id, "idle")
		w.requireTurns(id, 1)
	}
}

// A cancel with a message behind it ends the turn that it found, once.
func TestAMessageInsteadOfATurnComesOnce(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("hang", "in_progress")
	instead := `{"type":"agent.session.input.cancel"},` + message(textPart("hello"))
	require.Equal(t, 202, w.post(id, "k", instead))
	w.until(id, "idle")
	require.Equal(t, 202, w.post(id, "later", message(textPart("hang"))))
	w.until(id, "in_progress")
	for range 3 {
		require.Equal(t, 202, w.post(id, "k", instead))
	}
	require.Equal(t, "in_progress", string(w.until(id, "in_progress").Status))
	w.requireTurns(id, 3)
	require.Equal(t, 409, w.post(id, "k", message(textPart("hello"))), "a request without the cancel is another one")
}

// Whatever a key was used for, with its session deleted it is used up.
func TestTheKeysOfADeletedSession(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("ask", "requires_action")
	call := w.until(id, "requires_action").RequiredActions[0]
	events := map[string]string{"result": toolResult(call.CallID, call.TurnID, "x"), "cancel": `{"type":"agent.session.input.cancel"}`, "said": message(textPart("hello"))}
	for _, kind := range []string{"result", "cancel", "said"} {
		require.Equal(t, 202, w.post(id, kind, events[kind]), kind)
		w.until(id, "idle")
	}
	_, err := w.sessions().Delete(w.ctx(), id)
	require.NoError(t, err)
	before := w.digest()
	for kind, event := range events {
		require.Equal(t, 409, w.post(id, kind, event), kind)
		require.Equal(t, 404, w.post(id, "new "+kind, event), kind)
	}
	require.Equal(t, before, w.digest())
}

// What is refused uses up no key and writes nothing.
func TestARefusalUsesUpNoKey(t *testing.T) {
	w := newFitted(t, everyState(), fitting{limits: sessions.Limits{MessageBytes: 1 << 10, ToolResultBytes: 1 << 10}})
	waiting := w.made("ask", "requires_action")
	call := w.until(waiting, "requires_action").RequiredActions[0]
	closed := w.made("hello", "idle")
	_, err := w.host.SessionClose(w.ctx(), &api.SessionCloseArgs{Address: api.Address{SessionID: sessions.SessionID(closed)}})
	require.NoError(t, err)
	large := strings.Repeat("x", 2<<10)
	before := w.digest()
	for name, refused := range map[string]struct {
		id, events string
		status     int
	}{
		"a message to a closed session": {closed, message(textPart("more")), 409},
		"a message that is too large":   {waiting, message(textPart(large)), 413},
		"a result that is too large":    {waiting, toolResult(call.CallID, call.TurnID, large), 413},
		"a result of an unknown call":   {waiting, toolResult("call_nobody", call.TurnID, "x"), 400},
		"a result for another turn":     {waiting, toolResult(call.CallID, "turn_nobody", "x"), 400},
		"one of two results":            {waiting, toolResult(call.CallID, call.TurnID, "x") + "," + toolResult("call_nobody", call.TurnID, "x"), 400},
	} {
		require.Equal(t, refused.status, w.post(refused.id, "k", refused.events), name)
		require.Equal(t, before, w.digest(), name)
	}
	require.Equal(t, 202, w.post(waiting, "k", toolResult(call.CallID, call.TurnID, "x")))
	w.until(waiting, "idle")
}
