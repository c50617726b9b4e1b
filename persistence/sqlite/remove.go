package sqlite

import (
	"context"
	"maps"
	"sync"

	"agenthost/sessions"
)

// chunkRows is about how many rows one transaction of a removal takes away, so
// that other sessions' writes find their way between two of them.
const chunkRows = 500

// lifeRows is what a life costs of a chunk besides its rows: looking for them.
const lifeRows = 10

// childTables are the tables that hang on a session, in the order of removal,
// with the statement that removes up to a number of a life's rows.
var childTables = []struct{ name, remove string }{
	{"activity_frames", removeSome("activity_frames")},
	{"frame_runs", "DELETE FROM frame_runs WHERE (sid, first_seq) IN (SELECT sid, first_seq FROM frame_runs WHERE sid = ? LIMIT ?)"},
	{"session_messages", removeSome("session_messages")},
	{"session_state", removeSome("session_state")},
	{"session_summaries", removeSome("session_summaries")},
	{"pending_prompts", removeSome("pending_prompts")},
	{"waited_calls", removeSome("waited_calls")},
	{"turns", removeSome("turns")},
	{"dedupe_claims", "DELETE FROM dedupe_claims WHERE (owner, request_id) IN (SELECT owner, request_id FROM dedupe_claims WHERE sid = ? LIMIT ?)"},
	{"sub_session_refs", removeSome("sub_session_refs")},
	{"usage", "DELETE FROM usage WHERE (sid, day, model, kind) IN (SELECT sid, day, model, kind FROM usage WHERE sid = ? LIMIT ?)"},
}

func removeSome(table string) string {
	return "DELETE FROM " + table + " WHERE rowid IN (SELECT rowid FROM " + table + " WHERE sid = ? LIMIT ?)"
}

// chunk is what one transaction of a removal took away.
type chunk struct {
	rows  map[string]int64
	lives int  // how many it was the last of
	done  bool // nothing is left
}

// removeChunk takes away rows of hidden lives until the chunk is full.
func removeChunk(t *tx, lives []sessions.Incarnation) (chunk, error) {
	c := chunk{rows: map[string]int64{}}
	for budget := int64(chunkRows); budget > 0; {
		if c.lives == len(lives) {
			c.done = true
			break
		}
		gone, left, err := removeLife(t, lives[c.lives], budget, c.rows)
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

// removal is a delete under way, or the removal of what others have left: its
// receipt so far, for a caller who may stop waiting for the rest.
type removal struct {
	owner  sessions.Owner // "" for those of all
	clears bool           // it is about all that the owner has
	done   chan struct{}  // closed when remove has returned

	mu      sync.Mutex
	hidden  bool // the first transaction is durable
	receipt sessions.Receipt
}

func newRemoval(owner sessions.Owner) *removal {
	return &removal{owner: owner, done: make(chan struct{}), receipt: sessions.Receipt{Rows: map[string]int64{}}}
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

// remove takes away lives that the removal has: their files, then their rows,
// chunk by chunk. It is called once for a removal. It stops at the next chunk when
// ctx ends or the store closes; a later sweep goes on.
func (s *Store) remove(ctx context.Context, lives []sessions.Incarnation, r *removal) error {
	defer s.underway.leave(r)
	if err := s.removeFoldersOf(lives, r); err != nil {
		return err
	}
	for rest := lives; ; {
		if s.isClosing() || ctx.Err() != nil {
			return sessions.ErrStoreClosed
		}
		c, err := deleting(s, func() (chunk, error) {
			return doPatiently(s.writer, func(t *tx) (chunk, error) { return removeChunk(t, rest) })
		})
		if err != nil {
			return err
		}
		r.add(c)
		if c.done {
			return nil
		}
		rest = rest[c.lives:]
	}
}
