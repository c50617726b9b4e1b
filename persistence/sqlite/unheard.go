package sqlite

import (
	"context"

	"agenthost/sessions"
)

// announceEnded keeps sessions for those who must hear of their end.
func announceEnded(t *tx, gone []sessions.DeletedSession) error {
	rows := make([][]any, len(gone))
	for i, s := range gone {
		rows[i] = []any{s.Owner, s.ID, s.Fence.Incarnation, s.Fence.Epoch}
	}
	return t.insertAll("INSERT INTO unheard_deletes (owner, session_id, sid, epoch) VALUES ", rows, "")
}

// announceOwner does so for all live sessions of an owner.
func announceOwner(t *tx, owner sessions.Owner) error {
	_, err := t.exec(`INSERT INTO unheard_deletes (owner, session_id, sid, epoch)
        SELECT owner, id, sid, epoch FROM sessions WHERE owner = ? AND deleted_ms IS NULL ORDER BY sid`, owner)
	return err
}

// Unheard returns deleted sessions that nobody has been told of; see the port.
func (s *Store) Unheard(ctx context.Context, limit int) (gone []sessions.DeletedSession, err error) {
	err = s.readers.read(ctx, func(q querier) error {
		return q.each(ctx, "SELECT owner, session_id, sid, epoch FROM unheard_deletes ORDER BY num LIMIT ?", func(row scanner) error {
			var d sessions.DeletedSession
			err := row.Scan(&d.Owner, &d.ID, &d.Fence.Incarnation, &d.Fence.Epoch)
			gone = append(gone, d)
			return err
		}, max(limit, 0))
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// Heard forgets them; see the port.
func (s *Store) Heard(ctx context.Context, heard []sessions.DeletedSession) error {
	lives, err := jsonOf(heard, func(d sessions.DeletedSession) sessions.Incarnation { return d.Fence.Incarnation })
	if err != nil {
		return err
	}
	_, err = do(ctx, s.writer, func(t *tx) (int64, error) {
		return t.exec("DELETE FROM unheard_deletes WHERE sid IN (SELECT value FROM json_each(?))", lives)
	})
	return err
}
