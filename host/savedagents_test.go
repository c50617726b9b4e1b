package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/offline"
	"agenthost/sessions"
)

// newAgent is an agent that the default profile answers.
func newAgent() host.NewAgent {
	return host.NewAgent{Name: "helper", Profile: sessions.DefaultProfile, Settings: json.RawMessage(`{"instructions":"Be brief."}`)}
}

func TestSavedAgentsAreTheirOwners(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	ann, bob := h.As(api.Caller{Owner: "ann"}), h.As(api.Caller{Owner: "bob", Admin: true})
	saved, err := ann.AgentCreate(t.Context(), newAgent())
	require.NoError(t, err)
	require.Regexp(t, "^agent_[0-9a-f]{32}$", saved.ID)
	require.EqualValues(t, "ann", saved.Owner)

	_, err = bob.AgentGet(t.Context(), saved.ID)
	require.ErrorIs(t, err, sessions.ErrNoAgent)
	_, err = bob.AgentUpdate(t.Context(), saved.ID, func(*sessions.SavedAgent) error { return nil })
	require.ErrorIs(t, err, sessions.ErrNoAgent)
	require.ErrorIs(t, bob.AgentDelete(t.Context(), saved.ID), sessions.ErrNoAgent)
	list, err := bob.AgentList(t.Context(), sessions.AgentQuery{Owner: "ann", Limit: 10})
	require.NoError(t, err)
	require.Empty(t, list, "whose they are is not for the query to say")

	h.Restart()
	ann = h.As(api.Caller{Owner: "ann"})
	got, err := ann.AgentGet(t.Context(), saved.ID)
	require.NoError(t, err)
	require.Equal(t, saved, got)
	_, err = ann.SessionClearAll(t.Context(), &api.SessionClearAllArgs{})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, ann.AgentDelete(t.Context(), saved.ID))
	}
	_, err = ann.AgentGet(t.Context(), saved.ID)
	require.ErrorIs(t, err, sessions.ErrNoAgent)
}

func TestSavedAgentsAreListedAsTheyWereSaved(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	var ids []sessions.AgentID
	for range 50 {
		saved, err := h.AgentCreate(t.Context(), newAgent())
		require.NoError(t, err)
		ids = append(ids, saved.ID)
	}
	list, err := h.AgentList(t.Context(), sessions.AgentQuery{Ascending: true, Limit: 100})
	require.NoError(t, err)
	for i, a := range list {
		require.Equal(t, ids[i], a.ID)
	}
}

func TestSavedAgentsAreBounded(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{Config: host.Config{Limits: sessions.Limits{SavedAgents: 2, TitleBytes: 10, StateBytes: 100}}})
	fits := newAgent()
	fits.Name = strings.Repeat("n", 10)
	fits.Settings = json.RawMessage(`"` + strings.Repeat("s", 98) + `"`)
	saved, err := h.AgentCreate(t.Context(), fits)
	require.NoError(t, err)
	for limit, change := range map[string]func(*sessions.SavedAgent){
		"titleBytes": func(a *sessions.SavedAgent) { a.Name += "n" },
		"stateBytes": func(a *sessions.SavedAgent) { a.Settings = append(a.Settings, ' ') },
	} {
		made := sessions.SavedAgent{Name: fits.Name, Profile: fits.Profile, Settings: fits.Settings}
		change(&made)
		_, err := h.AgentCreate(t.Context(), host.NewAgent{Name: made.Name, Profile: made.Profile, Settings: made.Settings})
		require.Equal(t, sessions.CodePayloadTooLarge, sessions.CodeOf(err), limit)
		require.Equal(t, limit, sessions.AsError(err).Details["limit"])
		_, err = h.AgentUpdate(t.Context(), saved.ID, func(a *sessions.SavedAgent) error { change(a); return nil })
		require.Equal(t, sessions.CodePayloadTooLarge, sessions.CodeOf(err), limit)
	}
	_, err = h.AgentUpdate(t.Context(), saved.ID, func(a *sessions.SavedAgent) error { a.Profile = "nobody"; return nil })
	require.Equal(t, sessions.CodeUnknownProfile, sessions.CodeOf(err))
	_, err = h.AgentCreate(t.Context(), newAgent())
	require.NoError(t, err)
	_, err = h.AgentCreate(t.Context(), newAgent())
	require.Equal(t, map[string]any{"limit": "savedAgents", "max": int64(2)}, sessions.AsError(err).Details)
	_, err = h.As(api.Caller{Owner: "other"}).AgentCreate(t.Context(), newAgent())
	require.NoError(t, err)
}

// Each of many updates that come at once changes what it is about, and none takes
// back what another has changed.
func TestUpdatesOfASavedAgentAreNotLost(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	saved, err := h.AgentCreate(t.Context(), newAgent())
	require.NoError(t, err)
	var all sync.WaitGroup
	const updates = 20
	for range updates {
		all.Go(func() {
			_, err := h.AgentUpdate(context.Background(), saved.ID, func(a *sessions.SavedAgent) error { a.Name += "+"; return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := h.AgentGet(t.Context(), saved.ID)
	require.NoError(t, err)
	require.Equal(t, "helper"+strings.Repeat("+", updates), got.Name)
	require.EqualValues(t, 1+updates, got.Version)
	require.Equal(t, saved.CreatedAt, got.CreatedAt)
}

func TestRequestsThatSaveAgentsMayBeRepeated(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	n := newAgent()
	n.RequestID, n.Fingerprint = "r", [32]byte{1}
	saved, err := h.AgentCreate(t.Context(), n)
	require.NoError(t, err)
	again, err := h.AgentCreate(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, saved, again)
	n.Fingerprint = [32]byte{2}
	_, err = h.AgentCreate(t.Context(), n)
	require.ErrorIs(t, err, sessions.ErrOtherRequest)
	n.RequestID = sessions.RequestID(strings.Repeat("r", 200))
	_, err = h.AgentCreate(t.Context(), n)
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
}

// What models are told by who runs the host is shown to admins only.
func TestSystemPromptsAreForAdmins(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{Profiles: map[string]host.Profile{
		sessions.DefaultProfile: {Oracle: offline.New(), System: "Nobody may know."}}})
	require.Equal(t, "Nobody may know.", h.Profiles()[0].System)
	require.Equal(t, "Nobody may know.", h.As(api.Caller{Owner: "root", Admin: true}).Profiles()[0].System)
	require.Empty(t, h.As(api.Caller{Owner: sessions.LocalOwner}).Profiles()[0].System)
}
