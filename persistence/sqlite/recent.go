package sqlite

import (
	"maps"
	"slices"

	"agenthost/sessions"
)

// maxRecent bounds the rows that are kept.
const maxRecent = 1024

// recentRow is a session and its active turn, which is zero when it has none.
type recentRow struct {
	session sessionRow
	turn    turnRow
}

// recentRows are sessions as the writer itself has last stored them, so that a
// turn need not read what the turn or the step before it has written. There is
// one writer, so they cannot be out of date as long as every job that writes
// either keeps them up to date or makes them all be forgotten, which is what
// happens to a job that does nothing about them. A rollback and a new
// connection forget them too.
type recentRows map[sessions.Incarnation]recentRow

// active returns copies of a life's rows if the turn is its active one.
func (r recentRows) active(life sessions.Incarnation, id sessions.TurnID) (*sessionRow, turnRow, bool) {
	row, ok := r[life]
	if !ok || row.turn.TurnID != id {
		return nil, turnRow{}, false
	}
	return row.session.clone(), row.turn, true
}

// at returns a copy of a life's session if it is the owner's at the address.
func (r recentRows) at(life sessions.Incarnation, owner sessions.Owner, at sessions.Address) (*sessionRow, bool) {
	row, ok := r[life]
	if !ok || row.session.Owner != owner || at.ID != "" && at.ID != row.session.ID || at.ID == "" && at.Key != row.session.Key() {
		return nil, false
	}
	return row.session.clone(), true
}

// of returns a copy of a life's session.
func (r recentRows) of(life sessions.Incarnation) (*sessionRow, bool) {
	row, ok := r[life]
	if !ok {
		return nil, false
	}
	return row.session.clone(), true
}

// clone copies what a caller that gets the session could change in place.
func (r sessionRow) clone() *sessionRow {
	r.Labels, r.Pending = maps.Clone(r.Labels), clonePending(r.Pending)
	if r.ActiveTurn != nil {
		r.ActiveTurn = new(*r.ActiveTurn)
	}
	return &r
}

// clonePending is never nil, as a session's Pending.
func clonePending(calls []sessions.Pending) []sessions.Pending {
	cloned := make([]sessions.Pending, len(calls))
	for i, p := range calls {
		p.Args = slices.Clone(p.Args)
		cloned[i] = p
	}
	return cloned
}

// keep records what a job has stored of a session and its turn. A session with
// an error is read again: what the error says in detail is the caller's.
func (t *tx) keep(session *sessionRow, turn turnRow) {
	t.kept = true
	life := session.Fence.Incarnation
	if session.LastError != nil {
		delete(t.recent, life)
		return
	}
	if turn.Status.Terminal() {
		turn = turnRow{}
	}
	if _, known := t.recent[life]; !known && len(t.recent) >= maxRecent {
		clear(t.recent)
	}
	t.recent[life] = recentRow{*session.clone(), turn}
}

// keepBeside records what a job has stored of a session whose active turn it has
// left as it was.
func (t *tx) keepBeside(session *sessionRow) {
	row, known := t.recent[session.Fence.Incarnation]
	if !known {
		t.kept = true
		return
	}
	t.keep(session, row.turn)
}

// beginJob prepares for the next job of a batch.
func (t *tx) beginJob() { t.wrote, t.kept = false, false }

// endJob forgets the recent rows when the job has written past them.
func (t *tx) endJob() {
	if t.wrote && !t.kept {
		clear(t.recent)
	}
}
