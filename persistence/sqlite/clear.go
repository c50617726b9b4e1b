package sqlite

import (
	"context"
	"errors"
	"sync"

	"agenthost/sessions"
)

// ClearOwner ends all sessions of an owner; see the port. It goes on to its end
// as DeleteSession does.
func (s *Store) ClearOwner(ctx context.Context, c sessions.ClearOwner, hidden func(sessions.Incarnation, int64)) (sessions.Receipt, error) {
	receipt, _, err := s.awaitRemoval(ctx, c.Owner, func(r *removal) error { return s.clearOwner(c, hidden, r) })
	return receipt, err
}

func (s *Store) clearOwner(c sessions.ClearOwner, hidden func(sessions.Incarnation, int64), r *removal) error {
	if hidden == nil {
		hidden = func(sessions.Incarnation, int64) {}
	}
	truncated, err := deleting(s, func() (*ended, error) {
		return doSolo(s.writer, func(l *link) (*ended, error) { return s.truncate(l, c) })
	})
	if err != nil {
		return err
	}
	if truncated != nil {
		r.begin(*truncated)
		hidden(truncated.last, truncated.sessions)
		if err := s.removeFolders(truncated.last, r); err != nil {
			return err
		}
		compacted := s.compact()
		if compacted != nil {
			s.log.Warn("the store could not be compacted", "error", compacted)
		}
		r.finish(compacted == nil)
		return nil
	}
	return s.clearInChunks(c, hidden, r)
}

// clearInChunks clears the owner as a delete would, beside the sessions of others.
// It is done when what was deleted before is gone too.
func (s *Store) clearInChunks(c sessions.ClearOwner, hidden func(sessions.Incarnation, int64), r *removal) error {
	r.clears = true
	done := sync.OnceFunc(s.underway.clear(c.Owner))
	defer done()
	end, err := deleting(s, func() (ended, error) {
		return do(always, s.writer, func(t *tx) (ended, error) { return s.hideOwner(t, c) })
	})
	if err != nil {
		return err
	}
	r.begin(end)
	hidden(end.last, end.sessions)
	lives, err := s.takeHidden(always, c.Owner, r)
	if err != nil {
		return err
	}
	if err := s.remove(always, lives, r); err != nil {
		return err
	}
	done()
	return s.removeAllHidden(c.Owner)
}

// finish records the end of a clear that needed no chunks.
func (r *removal) finish(compacted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.receipt.Complete, r.receipt.Compacted = true, compacted
}

// hideOwner hides and fences every session of an owner at once.
func (s *Store) hideOwner(t *tx, c sessions.ClearOwner) (ended, error) {
	last, err := s.buryOwner(t, c)
	if err != nil {
		return ended{}, err
	}
	claims, err := t.exec("DELETE FROM dedupe_claims WHERE owner = ?", c.Owner)
	if err != nil {
		return ended{}, err
	}
	t.files.endAll()
	n, err := t.exec("UPDATE sessions SET deleted_ms = ?, epoch = epoch + 1 WHERE owner = ? AND deleted_ms IS NULL", c.Now, c.Owner)
	return ended{last: last, sessions: n, rows: map[string]int64{"dedupe_claims": claims}}, err
}

// buryOwner raises the owner's generation, leaves its tombstone, keeps its sessions
// for those who must hear of it, and writes the tombstones of its live claims. It
// returns the last life that is over.
func (s *Store) buryOwner(t *tx, c sessions.ClearOwner) (last sessions.Incarnation, err error) {
	err = t.row(always, `INSERT INTO owners (owner, generation, cleared_sid, cleared_ms)
        VALUES (?, 2, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'sessions'), 0), ?)
        ON CONFLICT (owner) DO UPDATE SET generation = generation + 1,
            cleared_sid = excluded.cleared_sid, cleared_ms = excluded.cleared_ms
        RETURNING cleared_sid`, c.Owner, c.Now).Scan(&last)
	if err != nil {
		return 0, err
	}
	t.wrote = true
	if c.Announce {
		if err := announceOwner(t, c.Owner); err != nil {
			return 0, err
		}
	}
	live, err := claimsOfOwner(t, c.Owner, c.Now)
	if err != nil {
		return 0, err
	}
	return last, s.tombs.buryClaims(t, live, c.Now+sessions.Time(c.TombstoneMs))
}

// truncate clears the owner by emptying the tables, which takes milliseconds
// however much is in them. It returns nil, and does nothing, when another owner
// has a session. Foreign keys and overwriting are off for its transaction alone;
// the compaction that follows leaves no deleted bytes.
func (s *Store) truncate(l *link, c sessions.ClearOwner) (*ended, error) {
	var others bool
	err := l.tx.row(always, `SELECT EXISTS (SELECT 1 FROM sessions INDEXED BY sessions_list WHERE owner < ?1 AND deleted_ms IS NULL)
        OR EXISTS (SELECT 1 FROM sessions INDEXED BY sessions_list WHERE owner > ?1 AND deleted_ms IS NULL)`, c.Owner).Scan(&others)
	if err != nil || others {
		return nil, err
	}
	if err := l.pragmas("secure_delete = 0", "foreign_keys = 0"); err != nil {
		return nil, err
	}
	s.files.closeAll()
	end, err := s.emptyTables(l, c)
	return end, errors.Join(err, l.pragmas("secure_delete = 1", "foreign_keys = 1"))
}

func (s *Store) emptyTables(l *link, c sessions.ClearOwner) (*ended, error) {
	if _, err := l.tx.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	var live int64 // what deletes have hidden is none of this one's
	rows := map[string]int64{}
	last, err := s.buryOwner(l.tx, c)
	if err == nil {
		err = l.tx.row(always, "SELECT count(*) FROM sessions INDEXED BY sessions_list WHERE deleted_ms IS NULL").Scan(&live)
	}
	for _, table := range removedTables() {
		if err == nil {
			rows[table], err = l.tx.exec("DELETE FROM " + table)
		}
	}
	if err == nil {
		_, err = l.tx.exec("COMMIT")
	}
	if err != nil {
		_, rollback := l.tx.exec("ROLLBACK")
		return nil, errors.Join(err, rollback)
	}
	return &ended{last: last, sessions: live, rows: rows}, nil
}
