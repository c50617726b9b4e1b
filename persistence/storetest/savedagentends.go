package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testAgentEnds deletes saved agents, and what they have nothing to do with.
func testAgentEnds(t *testing.T, f Factory) {
	f.run(t, "a delete may be repeated, and writes once", func(t *testing.T) {
		w := newWorld(t, f)
		require.ErrorIs(t, w.deleteAgent("ann", "nobody"), sessions.ErrNoAgent)
		id := w.save(w.newAgent("ann")).ID
		require.NoError(t, w.deleteAgent("ann", id))
		before := w.rows()
		w.now += day
		require.NoError(t, w.deleteAgent("ann", id))
		require.ErrorIs(t, w.deleteAgent("bob", id), sessions.ErrNoAgent, "what was another's")
		_, err := w.store.Agent(t.Context(), "ann", id)
		require.ErrorIs(t, err, sessions.ErrNoAgent)
		require.Equal(t, before, w.rows())

		w.now += 29 * day
		require.ErrorIs(t, w.deleteAgent("ann", id), sessions.ErrNoAgent, "the tombstone is over")
		require.NoError(t, w.store.Sweep(t.Context(), w.now))
		if f.Rows != nil {
			require.Empty(t, w.rows()["agent_tombstones"])
		}
	})
	f.run(t, "a deleted agent leaves no row with a text of it", func(t *testing.T) {
		if f.Rows == nil {
			t.Skip("this store does not show its rows")
		}
		w := newWorld(t, f)
		kept := w.save(w.newAgent("ann"))
		before := w.census()
		c := w.markedAgent("obliterate")
		w.save(c)
		require.NotEmpty(t, w.rowsWith("obliterate"))
		require.NoError(t, w.deleteAgent(c.Agent.Owner, c.Agent.ID))
		for table, rows := range w.rows() {
			for _, row := range rows {
				require.NotContains(t, row, "obliterate", table)
			}
		}
		w.now += 2 * ttl
		require.NoError(t, w.store.Sweep(t.Context(), w.now))
		require.Equal(t, before, w.census(), "the claim is gone too")
		require.Equal(t, []sessions.SavedAgent{kept}, w.agents("ann"))
	})
	f.run(t, "a compaction removes the last bytes", func(t *testing.T) {
		w := newWorld(t, f)
		_, err := w.store.Compact(t.Context(), true)
		optional(t, err)
		c := w.markedAgent("obliterate")
		a := w.save(c)
		w.save(w.newAgent("ann"))
		// What an update has replaced is as gone as what a delete has removed.
		a.Settings, a.Name, a.Metadata = json.RawMessage(`{}`), "", nil
		_, err = w.store.UpdateAgent(t.Context(), a)
		require.NoError(t, err)
		require.NoError(t, w.deleteAgent(a.Owner, a.ID))
		_, err = w.store.Compact(t.Context(), false)
		require.NoError(t, err)
		w.requireBytes("obliterate", false)
		require.Len(t, w.agents("ann"), 1)
	})
	for name, end := range map[string]func(w *world, s sessions.Session){
		"a delete of sessions leaves agents":             func(w *world, s sessions.Session) { w.remove(addressOf(s)) },
		"a clear of the only owner leaves agents":        func(w *world, _ sessions.Session) { w.clear(owner) },
		"a clear of one of two owners leaves agents too": func(w *world, _ sessions.Session) { w.turn(byKey("doc", "p"), "question", "reply"); w.clear("other") },
	} {
		f.run(t, name, func(t *testing.T) {
			w := newWorld(t, f)
			want := []sessions.SavedAgent{w.save(w.newAgent(owner)), w.save(w.newAgent(owner))}
			others := []sessions.SavedAgent{w.save(w.newAgent("other"))}
			_, err := w.store.CreateSession(t.Context(), sessions.CreateSession{Owner: owner, NewID: "s", Profile: sessions.DefaultProfile, Now: w.now})
			require.NoError(t, err)
			end(w, w.get(byID("s")))
			require.Equal(t, want, w.agents(owner))
			require.Equal(t, others, w.agents("other"))
		})
	}
}

// markedAgent returns an agent to be saved with a text wherever one can be.
func (w *world) markedAgent(mark string) sessions.CreateAgent {
	c := w.newAgent("ann")
	c.Agent.ID, c.Agent.Name, c.Agent.Profile = sessions.AgentID(w.name(mark)), mark, mark
	c.Agent.Settings, c.Agent.Metadata = json.RawMessage(`{"instructions":"`+mark+`"}`), map[string]string{mark: mark}
	c.Request = &sessions.Request{ID: sessions.RequestID(mark), Fingerprint: fingerprint(mark), TTLMs: ttl}
	return c
}

// testAgentClaims repeats requests that save agents.
func testAgentClaims(t *testing.T, f Factory) {
	claimed := func(t *testing.T) (*world, sessions.CreateAgent, sessions.SavedAgent) {
		t.Helper()
		w := newWorld(t, f)
		c := w.newAgent("ann")
		c.Request = &sessions.Request{ID: "request", Fingerprint: fingerprint("a"), TTLMs: ttl}
		return w, c, w.save(c)
	}
	f.run(t, "a repeat returns the agent as it is now", func(t *testing.T) {
		w, c, saved := claimed(t)
		saved.Name = "changed"
		changed, err := w.store.UpdateAgent(t.Context(), saved)
		require.NoError(t, err)
		c.Agent.ID, c.Agent.CreatedAt, c.Most = "another", w.now+ttl-1, 1
		again, err := w.store.CreateAgent(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, sessions.CreatedAgent{Agent: changed}, again)
		require.Len(t, w.agents("ann"), 1)
	})
	f.run(t, "a request id is of one request of one owner", func(t *testing.T) {
		w, c, _ := claimed(t)
		c.Agent.ID, c.Request.Fingerprint = "another", fingerprint("b")
		_, err := w.store.CreateAgent(t.Context(), c)
		require.ErrorIs(t, err, sessions.ErrOtherRequest)
		c.Agent.Owner = "bob"
		w.save(c)
		s := w.create(sessions.CreateSession{Owner: "ann", Profile: sessions.DefaultProfile, Request: c.Request})
		require.NotEmpty(t, s.ID, "sessions have claims of their own")
	})
	f.run(t, "a repeat after the delete says so", func(t *testing.T) {
		w, c, saved := claimed(t)
		require.NoError(t, w.deleteAgent("ann", saved.ID))
		c.Agent.ID = "another"
		_, err := w.store.CreateAgent(t.Context(), c)
		require.ErrorIs(t, err, sessions.ErrRequestDeleted)
		require.Empty(t, w.agents("ann"))
	})
	f.run(t, "a claim ends", func(t *testing.T) {
		w, c, _ := claimed(t)
		for i, fresh := range []sessions.AgentID{"second", "third"} {
			w.now += ttl
			c.Agent.ID, c.Agent.CreatedAt, c.Request.Fingerprint = fresh, w.now, fingerprint(string(fresh))
			w.save(c)
			require.Len(t, w.agents("ann"), i+2)
		}
		if f.Rows != nil {
			require.Len(t, w.rows()["agent_claims"], 1)
			require.NoError(t, w.store.Sweep(t.Context(), w.now+ttl))
			require.Empty(t, w.rows()["agent_claims"])
		}
	})
}
