package host

import (
	"context"

	"agenthost/sessions"
)

// position returns the seq that a cursor of a client names in a session, absent
// when there is none. A cursor of an earlier life is SESSION_DELETED, one of
// another session NOT_FOUND, one ahead of the end INVALID_REQUEST.
func (a *Access) position(ctx context.Context, s sessions.Session, field string, c sessions.Cursor, absent int64) (int64, error) {
	if c == "" {
		return absent, nil
	}
	life, seq, err := c.Position(field)
	if err != nil {
		return 0, err
	}
	switch {
	case life == 0:
		return 0, nil
	case life != s.Fence.Incarnation:
		over, err := a.host.store.Over(ctx, life)
		if err != nil {
			return 0, err
		}
		if over {
			return 0, errLifeOver()
		}
		return 0, sessions.Errorf(sessions.CodeNotFound, "The cursor is not of this session.").With("field", field)
	case seq > s.LastFrame:
		return 0, sessions.InvalidField(field, "The cursor is ahead of the session's last frame.")
	}
	return seq, nil
}

func errLifeOver() *sessions.Error {
	return sessions.Errorf(sessions.CodeSessionDeleted, "The cursor is of a session that was deleted.")
}

// orDeleted returns SESSION_DELETED instead of a SESSION_NOT_FOUND when one of
// the cursors is of a deleted life: its reader learns what has become of it.
func (a *Access) orDeleted(ctx context.Context, err error, cursors ...sessions.Cursor) error {
	if sessions.CodeOf(err) != sessions.CodeSessionNotFound {
		return err
	}
	for _, c := range cursors {
		if c == "" {
			continue
		}
		life, _, posErr := c.Position("/args/after")
		if posErr != nil || life == 0 {
			continue
		}
		if over, overErr := a.host.store.Over(ctx, life); overErr == nil && over {
			return errLifeOver()
		}
	}
	return err
}
