package storetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testSavedAgents(t *testing.T, f Factory) {
	f.run(t, "an agent is found as it was saved", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.newAgent("ann")
		c.Agent.Settings = json.RawMessage(`{"b": "\u0000 <é> \u2028", "a":[1,  2.0]}`)
		c.Agent.Metadata = map[string]string{"k'\"$": "a\x00b", "": "☂"}
		saved := w.save(c)
		want := c.Agent
		want.UpdatedAt, want.Version = want.CreatedAt, 1
		require.Equal(t, want, saved)
		require.Equal(t, want, w.annsAgent(want.ID))
		c = w.newAgent("ann")
		c.Agent.Name, c.Agent.Metadata = "", nil
		require.Equal(t, map[string]string{}, w.save(c).Metadata)
	})
	f.run(t, "agents are their owner's", func(t *testing.T) { agentsOwned(t, f) })
	f.run(t, "pages both ways, whatever is saved or deleted meanwhile", func(t *testing.T) { agentsPaged(t, f) })
	f.run(t, "an owner has so many at most", func(t *testing.T) {
		w := newWorld(t, f)
		for range 3 {
			c := w.newAgent("ann")
			c.Most = 3
			w.save(c)
		}
		c := w.newAgent("ann")
		c.Most = 3
		_, err := w.store.CreateAgent(t.Context(), c)
		requireCode(t, sessions.CodePayloadTooLarge, err)
		require.Equal(t, map[string]any{"limit": "savedAgents", "max": int64(3)}, sessions.AsError(err).Details)
		require.Len(t, w.agents("ann"), 3)
		c.Agent.Owner = "bob"
		w.save(c)
	})
	f.run(t, "the same id again changes nothing", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.newAgent("ann")
		saved := w.save(c)
		c.Agent.Name, c.Most = "else", 1
		again, err := w.store.CreateAgent(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, sessions.CreatedAgent{Agent: saved}, again)
	})
	f.run(t, "an update replaces, once for each version", func(t *testing.T) { agentUpdated(t, f) })
	f.run(t, "what is passed in and what is returned is not the store's", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.newAgent("ann")
		saved := w.save(c)
		want := w.annsAgent(saved.ID)
		c.Agent.Settings[1], c.Agent.Metadata["team"] = '!', "spoilt"
		saved.Settings[1], saved.Metadata["team"] = '!', "spoilt"
		listed := w.agents("ann")
		listed[0].Settings[1], listed[0].Metadata["team"] = '!', "spoilt"
		require.Equal(t, want, w.annsAgent(saved.ID))
	})
	f.run(t, "agents are the same after a reopen", func(t *testing.T) {
		if f.Reopen == nil {
			t.Skip("this store cannot be opened again")
		}
		w := newWorld(t, f)
		saved := []sessions.SavedAgent{w.save(w.newAgent("ann")), w.save(w.newAgent("ann"))}
		w.reopen()
		require.Equal(t, saved, w.agents("ann"))
	})
	testAgentEnds(t, f)
	testAgentClaims(t, f)
}

func agentsOwned(t *testing.T, f Factory) {
	w := newWorld(t, f)
	c := w.newAgent("ann")
	anns := w.save(c)
	_, err := w.store.Agent(t.Context(), "bob", anns.ID)
	require.ErrorIs(t, err, sessions.ErrNoAgent)
	foreign := anns
	foreign.Owner = "bob"
	_, err = w.store.UpdateAgent(t.Context(), foreign)
	require.ErrorIs(t, err, sessions.ErrNoAgent)
	require.ErrorIs(t, w.deleteAgent("bob", anns.ID), sessions.ErrNoAgent)
	require.Empty(t, w.agents("bob"))

	c.Agent.Owner = "bob"
	bobs := w.save(c) // the same id
	require.NoError(t, w.deleteAgent("ann", anns.ID))
	require.Equal(t, []sessions.SavedAgent{bobs}, w.agents("bob"))
	require.Empty(t, w.agents("ann"))
}

func agentsPaged(t *testing.T, f Factory) {
	for _, ascending := range []bool{true, false} {
		w := newWorld(t, f)
		w.save(w.newAgent("bob"))
		var ids, got []sessions.AgentID
		for range 7 {
			ids = append(ids, w.save(w.newAgent("ann")).ID)
		}
		q := sessions.AgentQuery{Owner: "ann", Ascending: ascending, Limit: 3}
		for range 3 {
			page, err := w.store.Agents(t.Context(), q)
			require.NoError(t, err)
			for _, a := range page {
				require.Equal(t, w.annsAgent(a.ID), a)
				got = append(got, a.ID)
			}
			q.After = got[len(got)-1]
			require.NoError(t, w.deleteAgent("ann", q.After))
		}
		want := ids
		if !ascending {
			want = reversed(ids)
		}
		require.Equal(t, want, got)
	}
}

func reversed[T any](list []T) (back []T) {
	for i := range list {
		back = append(back, list[len(list)-1-i])
	}
	return back
}

func agentUpdated(t *testing.T, f Factory) {
	w := newWorld(t, f)
	beside := w.save(w.newAgent("ann"))
	read := w.save(w.newAgent("ann"))
	change := read
	change.Name, change.Profile, change.Settings = "", "other", json.RawMessage(`{"x":2}`)
	change.Metadata, change.CreatedAt, change.UpdatedAt = map[string]string{}, 1, w.now+minute
	changed, err := w.store.UpdateAgent(t.Context(), change)
	require.NoError(t, err)
	want := change
	want.CreatedAt, want.Version = read.CreatedAt, 2
	require.Equal(t, want, changed)
	require.Equal(t, want, w.annsAgent(read.ID))
	require.Equal(t, beside, w.annsAgent(beside.ID))

	_, err = w.store.UpdateAgent(t.Context(), read)
	require.ErrorIs(t, err, sessions.ErrAgentChanged)
	require.Equal(t, want, w.annsAgent(read.ID))
	require.NoError(t, w.deleteAgent("ann", read.ID))
	_, err = w.store.UpdateAgent(t.Context(), changed)
	require.ErrorIs(t, err, sessions.ErrNoAgent)
}

// newAgent returns an agent to be saved under an id of its own, later than those
// before it.
func (w *world) newAgent(of sessions.Owner) sessions.CreateAgent {
	name := w.name("agent")
	return sessions.CreateAgent{Most: 100, Agent: sessions.SavedAgent{ID: sessions.AgentID(name), Owner: of, Name: "the " + name,
		Profile: sessions.DefaultProfile, Settings: json.RawMessage(fmt.Sprintf(`{"model":%q}`, name)),
		Metadata: map[string]string{"team": "blue"}, CreatedAt: w.now}}
}

// save requires that an agent is saved.
func (w *world) save(c sessions.CreateAgent) sessions.SavedAgent {
	w.t.Helper()
	saved, err := w.store.CreateAgent(w.t.Context(), c)
	require.NoError(w.t, err)
	require.True(w.t, saved.Created)
	return saved.Agent
}

func (w *world) annsAgent(id sessions.AgentID) sessions.SavedAgent {
	w.t.Helper()
	a, err := w.store.Agent(w.t.Context(), "ann", id)
	require.NoError(w.t, err)
	return a
}

// agents returns all agents of an owner, oldest first.
func (w *world) agents(of sessions.Owner) []sessions.SavedAgent {
	w.t.Helper()
	all, err := w.store.Agents(w.t.Context(), sessions.AgentQuery{Owner: of, Ascending: true, Limit: 100})
	require.NoError(w.t, err)
	return all
}

func (w *world) deleteAgent(of sessions.Owner, id sessions.AgentID) error {
	return w.store.DeleteAgent(w.t.Context(), sessions.DeleteAgent{Owner: of, ID: id, TombstoneMs: 30 * day, Now: w.now})
}
