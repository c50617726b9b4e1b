package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

func TestEveryOperationHasItsHandler(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	for _, row := range api.Ops() {
		if row.Op == api.OpSubscribe || row.Op == api.OpUnsubscribe {
			continue
		}
		_, err := h.Do(t.Context(), api.Caller{Owner: sessions.LocalOwner}, row.NewArgs(), nil)
		require.NotEqual(t, sessions.CodeInternal, sessions.CodeOf(err), row.Op)
	}
	_, err := h.Do(t.Context(), api.Caller{Owner: sessions.LocalOwner}, 7, nil)
	require.Equal(t, sessions.CodeInternal, sessions.CodeOf(err))
}

// The session of another owner is answered as one that does not exist, byte for
// byte, by every operation that takes an address.
func TestCase52ForeignSessionsAreAsUnknownOnes(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	ann, bob := api.Caller{Owner: "ann"}, api.Caller{Owner: "bob"}
	_, err := h.As(ann).SessionCreate(t.Context(), &api.SessionCreateArgs{Address: api.Address{SessionID: "x1"}})
	require.NoError(t, err)
	_, err = h.As(ann).Prompt(t.Context(), &api.PromptArgs{Address: api.Address{SessionID: "x1"}, Text: "hi", RequestID: "r1"}, nil)
	require.NoError(t, err)
	before, err := h.As(ann).SessionGet(t.Context(), &api.SessionGetArgs{Address: api.Address{SessionID: "x1"}})
	require.NoError(t, err)

	// x2 differs from x1 only in that nobody has it.
	for _, args := range []string{
		`"$sessionGet","args":{"sessionId":"%"}`,
		`"$sessionUpdate","args":{"sessionId":"%","title":"mine"}`,
		`"$sessionDelete","args":{"sessionId":"%"}`,
		`"$sessionFork","args":{"sessionId":"%"}`,
		`"$sessionFork","args":{"sessionId":"%","requestId":"r1"}`,
		`"$children","args":{"sessionId":"%"}`,
		`"$prompt","args":{"sessionId":"%","text":"hi"}`,
		`"$prompt","args":{"sessionId":"%","text":"hi","requestId":"r1"}`,
		`"$retry","args":{"sessionId":"%"}`,
		`"$cancel","args":{"sessionId":"%"}`,
		`"$cancel","args":{"sessionId":"%","requestId":"r1"}`,
		`"$turn","args":{"sessionId":"%","requestId":"r1"}`,
		`"$turns","args":{"sessionId":"%"}`,
		`"$messages","args":{"sessionId":"%"}`,
		`"$frames","args":{"sessionId":"%"}`,
		`"$frames","args":{"sessionId":"%","after":"cAQE"}`,
		`"$state","args":{"sessionId":"%"}`,
		`"$stateSet","args":{"sessionId":"%","name":"n","value":1}`,
		`"$sessionCreate","args":{"sessionId":"child","parentId":"%","parentLocation":"local"}`,
	} {
		require.Equal(t, answer(t, h, bob, args, "x2"), answer(t, h, bob, args, "x1"), args)
	}
	_, foreign := h.As(bob).Subscribe(t.Context(), &api.SubscribeArgs{Address: api.Address{SessionID: "x1"}})
	_, unknown := h.As(bob).Subscribe(t.Context(), &api.SubscribeArgs{Address: api.Address{SessionID: "x2"}})
	require.Equal(t, unknown, foreign)

	list, err := h.As(bob).SessionList(t.Context(), &api.SessionListArgs{})
	require.NoError(t, err)
	require.Empty(t, list.Sessions)
	cleared, err := h.As(bob).SessionClearAll(t.Context(), &api.SessionClearAllArgs{})
	require.NoError(t, err)
	require.Zero(t, cleared.Receipt.Sessions)
	after, err := h.As(ann).SessionGet(t.Context(), &api.SessionGetArgs{Address: api.Address{SessionID: "x1"}})
	require.NoError(t, err)
	before.Session.Resident, after.Session.Resident = false, false
	require.Equal(t, before, after, "nothing of it has changed")
}

// answer is the wire's answer to a request in which % stands for id. The id is
// taken out of it, since an error may repeat what was asked for.
func answer(t *testing.T, h *hosttest.Host, who api.Caller, request, id string) string {
	t.Helper()
	r, err := api.DecodeRequest([]byte(`{"op":` + strings.ReplaceAll(request, "%", id) + `}`))
	require.NoError(t, err)
	args, err := r.DecodeArgs()
	require.NoError(t, err)
	result, err := h.Do(t.Context(), who, args, nil)
	reply := api.ResultReply(nil, result)
	if err != nil {
		reply = api.ErrorReply(nil, err)
	}
	line, err := json.Marshal(reply)
	require.NoError(t, err)
	return strings.ReplaceAll(string(line), id, "<id>")
}
