package tests

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// eventTick is how often a test looks whether something has come about.
const eventTick = 2 * time.Millisecond

// Field case 19: an update by an administrator and a write by a child come to a
// session in the middle of a turn. Neither ends the turn, and neither is lost.
func TestCase19WritesInMidTurn(t *testing.T) {
	inMidTurn(t, func(h *hosttest.Host, b *bench, call caller, running <-chan outcome[*api.PromptResult]) {
		t := call.t
		parent := sessionOf(t, h, "k")
		title := "renamed"
		updated := hosttest.Result[api.SessionUpdateResult](t, call.call(api.OpSessionUpdate, api.SessionUpdateArgs{
			Address: atK, Title: &title, Labels: map[string]string{"by": "admin"}}))
		require.Equal(t, sessions.StatusRunning, updated.Session.Status)
		child := hosttest.Result[api.SessionCreateResult](t, call.call(api.OpSessionCreate, api.SessionCreateArgs{
			Address: api.Address{SessionID: "child"}, ParentID: parent, ParentLocation: sessions.Local}))
		require.True(t, child.Created)
		set := call.send(`{"id":"1","op":"$stateSet","args":{"sessionId":"` + string(parent) + `","name":"child","value":{"found":7}}}`)
		require.Empty(t, hosttest.Code(set))
		close(b.release)
		ended := <-running
		require.NoError(t, ended.err)
		require.Equal(t, "done", sessions.TextOf(ended.value.Message.Content))

		for range 2 {
			got := hosttest.Result[api.SessionGetResult](t, call.call(api.OpSessionGet, api.SessionGetArgs{Address: atK})).Session
			require.Equal(t, "renamed", got.Title)
			require.Equal(t, map[string]string{"by": "admin"}, got.Labels)
			require.Equal(t, 1, int(got.TurnCount))
			state := hosttest.Result[api.StateResult](t, call.call(api.OpState, api.StateArgs{Address: atK, Name: "child"})).State
			require.JSONEq(t, `{"found":7}`, string(state["child"].Value))
			h.Restart()
		}
	})
}

// Field case 20: values under a hundred names, set at once, are all there; of a
// hundred who set one value over a version of it, one at a time wins.
func TestCase20ManyValuesAtOnce(t *testing.T) {
	const writers, versions = 100, 8
	h := hosttest.New(t, offlineHost())
	_, err := h.Client.SessionCreate(t.Context(), api.SessionCreateArgs{Address: atK})
	require.NoError(t, err)
	set := func(name string, value int, ifVersion *int64) error {
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		_, err = h.Client.StateSet(t.Context(), api.StateSetArgs{
			Address: atK, Name: name, Value: api.Of(json.RawMessage(raw)), IfVersion: ifVersion})
		return err
	}

	for _, err := range atOnce(writers, func(i int) error { return set(fmt.Sprintf("name-%d", i), i, nil) }) {
		require.NoError(t, err)
	}
	all, err := h.Client.State(t.Context(), api.StateArgs{Address: atK})
	require.NoError(t, err)
	require.Len(t, all.State, writers)
	for i := range writers {
		value := all.State[fmt.Sprintf("name-%d", i)]
		require.Equal(t, fmt.Sprint(i), string(value.Value))
		require.EqualValues(t, 1, value.Version)
	}

	for version := range int64(versions) {
		winner := -1
		for i, err := range atOnce(writers, func(i int) error { return set("contended", i, &version) }) {
			if err == nil {
				require.Equal(t, -1, winner, "two have set version %d", version+1)
				winner = i
				continue
			}
			require.Equal(t, sessions.CodeConflict, sessions.CodeOf(err))
		}
		require.NotEqual(t, -1, winner, "nobody has set version %d", version+1)
		now, err := h.Client.State(t.Context(), api.StateArgs{Address: atK, Name: "contended"})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(winner), string(now.State["contended"].Value))
		require.Equal(t, version+1, now.State["contended"].Version)
	}
}
