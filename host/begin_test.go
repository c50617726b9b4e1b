package host_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

func beginning(id sessions.RequestID) host.NewSession {
	return host.NewSession{RequestID: id, Fingerprint: [32]byte{1}, NewSession: sessions.NewSession{Profile: sessions.DefaultProfile,
		Labels: map[string]string{"a": "b"}, State: map[string]json.RawMessage{"n": json.RawMessage(`1`)}}}
}

func TestASessionThatBeginsWithItsPrompt(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	got, err := h.SessionBeginWith(t.Context(), beginning("r"), api.PromptArgs{Text: "hi"})
	require.NoError(t, err)
	require.False(t, got.Duplicate)
	at := api.Address{SessionID: got.SessionID}
	done, err := h.Turn(t.Context(), &api.TurnArgs{Address: at, TurnID: got.TurnID, Wait: api.WaitDone})
	require.NoError(t, err)
	require.Equal(t, sessions.TurnIsCompleted, done.Turn.Status)
	s, err := h.SessionGet(t.Context(), &api.SessionGetArgs{Address: at})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b"}, s.Session.Labels)
	state, err := h.State(t.Context(), &api.StateArgs{Address: at})
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(`1`), state.State["n"].Value)

	again, err := h.SessionBeginWith(t.Context(), beginning("r"), api.PromptArgs{Text: "hi"})
	require.NoError(t, err)
	require.True(t, again.Duplicate)
	require.Equal(t, got.SessionID, again.SessionID)
	require.Equal(t, got.TurnID, again.TurnID)
	other := beginning("r")
	other.Fingerprint = [32]byte{2}
	_, err = h.SessionBeginWith(t.Context(), other, api.PromptArgs{Text: "ho"})
	require.Equal(t, sessions.CodeRequestConflict, sessions.CodeOf(err))
	_, err = h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: at})
	require.NoError(t, err)
	_, err = h.SessionBeginWith(t.Context(), beginning("r"), api.PromptArgs{Text: "hi"})
	require.Equal(t, sessions.CodeSessionDeleted, sessions.CodeOf(err))
}

// Requests that are the same and come at the same time make one session.
func TestTheSameBeginningAtTheSameTime(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	for round := range 10 {
		var group sync.WaitGroup
		results := make([]*api.PromptResult, 8)
		errs := make([]error, len(results))
		for i := range results {
			group.Go(func() {
				results[i], errs[i] = h.SessionBeginWith(t.Context(), beginning(sessions.RequestID(fmt.Sprint("r", round))), api.PromptArgs{Text: "hi"})
			})
		}
		group.Wait()
		first := 0
		for i, r := range results {
			require.NoError(t, errs[i])
			require.Equal(t, results[0].SessionID, r.SessionID)
			require.Equal(t, results[0].TurnID, r.TurnID)
			if !r.Duplicate {
				first++
			}
		}
		require.Equal(t, 1, first)
		list, err := h.SessionList(t.Context(), &api.SessionListArgs{})
		require.NoError(t, err)
		require.Len(t, list.Sessions, round+1)
	}
}

func TestABeginningThatIsRefusedMakesNoSession(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	for name, change := range map[string]func(*host.NewSession, *api.PromptArgs){
		"an unknown profile":   func(n *host.NewSession, _ *api.PromptArgs) { n.Profile = "nobody" },
		"too many model calls": func(_ *host.NewSession, p *api.PromptArgs) { p.MaxIterations = new(1 << 20) },
		"a tool that cannot be": func(_ *host.NewSession, p *api.PromptArgs) {
			p.ClientTools = []sessions.ClientTool{{Path: "/a", Schema: json.RawMessage(`{"type":7}`)}}
		},
		"no text": func(_ *host.NewSession, p *api.PromptArgs) { p.Text = "" },
	} {
		t.Run(name, func(t *testing.T) {
			n, p := beginning("r"), api.PromptArgs{Text: "hi"}
			change(&n, &p)
			_, err := h.SessionBeginWith(t.Context(), n, p)
			require.Error(t, err)
			list, err := h.SessionList(t.Context(), &api.SessionListArgs{})
			require.NoError(t, err)
			require.Empty(t, list.Sessions)
		})
	}
	later := beginning("r")
	later.Asks.ClientTools = []sessions.ClientTool{{Path: "/a", Schema: json.RawMessage(`{"type":7}`)}}
	_, err := h.SessionBegin(t.Context(), later)
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), "what its prompts would be refused for")
	_, err = h.SessionBeginWith(t.Context(), beginning("r"), api.PromptArgs{Text: "hi"})
	require.NoError(t, err, "the request id is free")
}
