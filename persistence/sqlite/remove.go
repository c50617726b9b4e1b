package sqlite

import (
	"database/sql"
	"errors"
	"maps"
	"sync"

	"agenthost/sessions"
)

// chunkRows is about how many rows one transaction of a removal takes away, so
// that other sessions' writes find their way between two of them.
const chunkRows = 500

// lifeRows is what a life costs of a chunk besides its rows: looking for them.
const lifeRows = 10

// scope says which hidden sessions a removal is about: given lives, those of an
// owner, or all.
type scope struct {
	lives []sessions.Incarnation
	owner sessions.Owner
}

// next returns a hidden life in the scope, 0 when there is none left. past is
// how many of the given lives are done with.
func (s scope) next(t *tx, past int) (sessions.Incarnation, error) {
	var life sessions.Incarnation
	var row scanner
	switch {
	case len(s.lives) > past:
		return s.lives[past], nil
	case s.lives != nil:
		return 0, nil
	case s.owner != "":
		row = t.row(always, "SELECT sid FROM sessions INDEXED BY sessions_deleted WHERE deleted_ms IS NOT NULL AND owner = ? LIMIT 1", s.owner)
	default:
		row = t.row(always, "SELECT sid FROM sessions INDEXED BY sessions_deleted WHERE deleted_ms IS NOT NULL LIMIT 1")
	}
	err := row.Scan(&life)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return life, err
}

// childTables are the tables that hang on a session, in the order of removal,
// with the statement that removes up to a number of a life's rows.
var childTables = []struct{ name, remove string }{
	{"activity_frames", removeSome("activity_frames")},
	{"frame_runs", "DELETE FROM frame_runs WHERE (sid, first_seq) IN (SELECT sid, first_seq FROM frame_runs WHERE sid = ? LIMIT ?)"},
	{"session_messages", removeSome("session_messages")},
	{"session_state", removeSome("session_state")},
	{"turns", removeSome("turns")},
	{"dedupe_claims", "DELETE FROM dedupe_claims WHERE (owner, request_id) IN (SELECT owner, request_id FROM dedupe_claims WHERE sid = ? LIMIT ?)"},
	{"sub_session_refs", removeSome("sub_session_refs")},
	{"usage", "DELETE FROM usage WHERE (sid, day, model) IN (SELECT sid, day, model FROM usage WHERE sid = ? LIMIT ?)"},
}

func removeSome(table string) string {
	return "DELETE FROM " + table + " WHERE rowid IN (SELECT rowid FROM " + table + " WHERE sid = ? LIMIT ?)"
}

// chunk is what one transaction of a removal took away.
type chunk struct {
	rows  map[string]int64
	lives int  // how many it was the last of
	done  bool // nothing of the scope is left
}

// removeChunk takes away rows of hidden sessions until the chunk is full.
func removeChunk(t *tx, s scope) (chunk, error) {
	c := chunk{rows: map[string]int64{}}
	budget := int64(chunkRows)
	for budget > 0 {
		life, err := s.next(t, c.lives)
		if err != nil {
			return c, err
		}
		if life == 0 {
			c.done = true
			return c, nil
		}
		gone, left, err := removeLife(t, life, budget, c.rows)
		if err != nil {
			return c, err
		}
		if budget = left - lifeRows; gone {
			c.lives++
		}
	}
	return c, nil
}

// removeLife takes away up to budget rows of one life, the session's own last.
// It returns whether that is gone, and what is left of the budget.
func removeLife(t *tx, life sessions.Incarnation, budget int64, rows map[string]int64) (gone bool, left int64, err error) {
	for _, table := range childTables {
		n, err := t.exec(table.remove, life, budget)
		if err != nil {
			return false, budget, err
		}
		rows[table.name] += n
		if budget -= n; budget == 0 {
			return false, 0, nil
		}
	}
	n, err := t.exec("DELETE FROM sessions WHERE sid = ? AND deleted_ms IS NOT NULL", life)
	rows["sessions"] += n
	return true, budget - n, err
}

// removedTables are all tables that a delete empties of a session.
func removedTables() []string {
	var tables []string
	for _, child := range childTables {
		tables = append(tables, child.name)
	}
	return append(tables, "sessions")
}

// removal is a delete under way: its receipt so far, for a caller who may stop
// waiting for the rest.
type removal struct {
	mu      sync.Mutex
	hidden  bool // the first transaction is durable
	receipt sessions.Receipt
}

// begin records the first transaction.
func (r *removal) begin(end ended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hidden = true
	r.receipt.Sessions = end.sessions
	r.receipt.Rows = map[string]int64{}
	addRows(r.receipt.Rows, end.rows)
}

func (r *removal) add(c chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	addRows(r.receipt.Rows, c.rows)
	r.receipt.Complete = c.done
}

func (r *removal) addFiles(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.receipt.Files += n
}

func addRows(sum, rows map[string]int64) {
	for table, n := range rows {
		if n > 0 {
			sum[table] += n
		}
	}
}

// soFar returns a copy of the receipt, and whether there is one.
func (r *removal) soFar() (sessions.Receipt, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.receipt
	c.Rows = maps.Clone(c.Rows)
	return c, r.hidden
}

// remove takes away all hidden sessions of a scope: their files, then their
// rows, chunk by chunk. It stops at the next chunk when the store closes; a later
// sweep goes on.
func (s *Store) remove(of scope, r *removal) error {
	if err := s.removeFiles(of, r); err != nil {
		return err
	}
	for {
		if s.isClosing() {
			return sessions.ErrStoreClosed
		}
		c, err := deleting(s, func() (chunk, error) {
			return doPatiently(s.writer, func(t *tx) (chunk, error) { return removeChunk(t, of) })
		})
		if err != nil {
			return err
		}
		r.add(c)
		if c.done {
			return nil
		}
		of.lives = of.lives[min(c.lives, len(of.lives)):]
	}
}
