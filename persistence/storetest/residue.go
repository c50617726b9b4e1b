package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testResidue looks at every row of every table, whatever tables there are.
func testResidue(t *testing.T, f Factory) {
	f.run(t, "what is counted before a tree and after its delete is the same", func(t *testing.T) { treeCounted(t, f) })
	f.run(t, "usage that no turn reported goes too", func(t *testing.T) { usageGoes(t, f) })
	if f.Rows == nil {
		t.Skip("this store does not show its rows")
	}
	f.run(t, "every table is written to", func(t *testing.T) { tablesCovered(t, f) })
	f.run(t, "case-24: of a tree of three levels no id is left", func(t *testing.T) { treeLeavesNothing(t, f) })
	f.run(t, "case-28: rows before a tree and after its delete are the same", func(t *testing.T) {
		w := newWorld(t, f)
		w.turn(byKey("first", "writer"), "question", "reply")
		before := w.census()
		w.family("marked")
		w.cascade(byID("marked"))
		require.Equal(t, before, w.census())
	})
	for _, order := range [][]sessions.SessionID{{"child", "parent"}, {"parent", "child"}} {
		f.run(t, fmt.Sprintf("case-27: delete %s, then %s", order[0], order[1]), func(t *testing.T) { deleteBoth(t, f, order) })
	}
	f.run(t, "case-28: rows before a session and after its delete are the same", func(t *testing.T) {
		w := newWorld(t, f)
		// What an owner leaves for good is there beforehand.
		w.turn(byKey("first", "writer"), "question", "reply")
		before := w.census()
		s := w.busyLife("marked")
		require.NotEmpty(t, w.rowsWith("marked"))
		require.NotEmpty(t, w.rowsWith(lifeMark(s)))
		receipt := w.remove(addressOf(s))
		require.Equal(t, before, w.census())
		require.Empty(t, w.rowsWith("marked"))
		require.Empty(t, w.rowsWith(lifeMark(s)))
		require.EqualValues(t, 1, receipt.Rows["sub_session_refs"], "the parent's record of it")
	})
	f.run(t, "a long session goes in many pieces, other writes between them", func(t *testing.T) {
		w := newWorld(t, f)
		w.turn(byKey("first", "writer"), "question", "reply")
		before := w.census()
		s := w.session()
		const messages = 3000
		c := w.seed(addressOf(s))
		c.State = nil
		c.Messages = nil
		for range messages {
			c.Messages = append(c.Messages, sessions.Message{Role: sessions.RoleUser, Content: sessions.Text("marked")})
		}
		_, err := w.store.SeedSession(t.Context(), c)
		require.NoError(t, err)
		receipt := w.remove(addressOf(s))
		require.EqualValues(t, messages, receipt.Rows["session_messages"])
		require.Equal(t, before, w.census())
	})
}

// busyLife makes a session that has rows of every kind, all marked, and is in
// the middle of a turn that waits for two calls, one of them answered, with
// another turn queued and text that waits.
func (w *world) busyLife(mark string) sessions.Session {
	parent := w.get(byKey("first", "writer"))
	s := w.create(sessions.CreateSession{At: sessions.Address{ID: sessions.SessionID(mark), Key: sessions.Key{Target: mark, Profile: mark}},
		AgentID: sessions.AgentID(mark), Title: mark, Labels: map[string]string{mark: mark}, ParentID: parent.ID, ParentLocation: sessions.Local,
		Request: &sessions.Request{ID: sessions.RequestID(mark + "-create"), Fingerprint: fingerprint(mark), TTLMs: ttl}})
	var last sessions.AcceptedTurn
	for i := range 3 {
		c := w.prompt(addressOf(s), mark)
		c.Request.ID = sessions.RequestID(fmt.Sprintf("%s-request-%d", mark, i))
		c.TurnID = sessions.TurnID(fmt.Sprintf("%s-turn-%d", mark, i))
		last = w.accept(c)
		step := w.answer(last, mark)
		step.State = map[string]json.RawMessage{mark: json.RawMessage(`"` + mark + `"`)}
		step.Frames = append(step.Frames, sessions.TextPart{Text: mark})
		if i == 2 {
			step.Summary = sessions.Summary{ThroughSeq: 2, Text: mark}
			step.End = nil
		}
		w.commit(step)
	}
	for _, policy := range []sessions.BusyPolicy{sessions.BusyQueue, sessions.BusySteer} {
		c := w.aside(w.get(addressOf(s)), policy, mark)
		c.Request.ID = sessions.RequestID(mark + string(policy))
		c.TurnID = sessions.TurnID(mark + "-turn-" + string(policy))
		w.accept(c)
	}
	calls := []sessions.Pending{w.clientCall(mark+"-1", `"`+mark+`"`), w.clientCall(mark+"-2", `"`+mark+`"`)}
	w.await(last, calls...)
	w.answered(last.Session, calls[0].CallID, sessions.CallAnswer{Error: &mark})
	return s
}

// census counts rows by table, tombstones aside, and files.
func (w *world) census() map[string]int {
	if w.f.Residue != nil {
		return w.f.Residue(w.t, w.store)
	}
	if w.f.Rows == nil {
		w.t.Skip("this store does not show its rows")
	}
	counts := map[string]int{}
	for table, rows := range w.f.Rows(w.t, w.store) {
		if !strings.Contains(table, "tombstone") {
			counts[table] = len(rows)
		}
	}
	if w.f.Files != nil {
		counts["files"] = len(w.f.Files(w.t, w.store))
	}
	return counts
}

// rowsWith returns the rows that hold a text, tombstones aside.
func (w *world) rowsWith(text string) (found []string) {
	for table, rows := range w.f.Rows(w.t, w.store) {
		for _, row := range rows {
			if !strings.Contains(table, "tombstone") && strings.Contains(row, text) {
				found = append(found, table+": "+row)
			}
		}
	}
	return found
}

// lifeMark is how a row that names a life is written by Factory.Rows.
func lifeMark(s sessions.Session) string { return fmt.Sprintf("sid=%d;", s.Fence.Incarnation) }
