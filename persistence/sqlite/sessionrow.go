package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

// sessionRow is a session with what only the store needs to know of it.
type sessionRow struct {
	sessions.Session
	generation int64 // the owner's at its birth, and so for as long as it lives
	damaged    bool
	filed      bool  // its frames are in files
	firstFrame int64 // seq of the first frame that retention has left
}

// busy returns AGENT_BUSY, with the turn that makes it so, when a turn of the
// session has not ended.
func (r *sessionRow) busy() error {
	switch {
	case r.ActiveTurn != nil:
		return sessions.ErrSessionBusy.With("turnId", r.ActiveTurn.TurnID)
	case r.Queued > 0:
		return sessions.ErrSessionBusy
	}
	return nil
}

// sessionColumns are those scanSession reads, in its order.
const sessionColumns = `sid, owner, generation, id, target_key, profile_key, epoch, status, damaged, filed, first_frame, title, preview, labels,
    parent_id, parent_location, forked_from, agent_id, turn_count, message_count, frame_count, queued,
    created_ms, last_active_ms, closed_ms, closed_reason, active_turn, active_request, active_started_ms,
    input_tokens, output_tokens, cached_tokens, calls, last_error`

const (
	selectSession = `SELECT ` + sessionColumns + ` FROM sessions `
	sessionBySid  = selectSession + `WHERE sid = ? AND deleted_ms IS NULL`
	sessionByID   = selectSession + `WHERE owner = ? AND id = ? AND deleted_ms IS NULL`
	sessionByKey  = selectSession + `WHERE owner = ? AND target_key = ? AND profile_key = ? AND deleted_ms IS NULL AND target_key <> ''`
)

// scanSession reads a row; what the session waits for is for readWaiting.
func scanSession(row scanner) (*sessionRow, error) {
	var r sessionRow
	var labels, lastError string
	var active sessions.ActiveTurn
	s := &r.Session
	// Targets of basic types are filled without reflection, which a list notices.
	err := row.Scan((*int64)(&s.Fence.Incarnation), (*string)(&s.Owner), &r.generation, (*string)(&s.ID),
		&s.TargetKey, &s.ProfileKey, (*int64)(&s.Fence.Epoch), (*string)(&s.Status),
		&r.damaged, &r.filed, &r.firstFrame, &s.Title, &s.Preview, &labels,
		(*string)(&s.ParentID), (*string)(&s.ParentLocation), (*string)(&s.ForkedFrom), (*string)(&s.AgentID),
		&s.TurnCount, &s.MessageCount, &s.LastFrame, &s.Queued,
		(*int64)(&s.CreatedAt), (*int64)(&s.LastActiveAt), (*int64)(&s.ClosedAt), &s.ClosedReason,
		(*string)(&active.TurnID), (*string)(&active.RequestID), (*int64)(&active.StartedAt),
		&s.Usage.InputTokens, &s.Usage.OutputTokens, &s.Usage.CachedTokens, &s.Usage.Calls, &lastError)
	if err != nil {
		return nil, err
	}
	s.Labels, s.Pending = map[string]string{}, []sessions.Pending{}
	if err := decodeText(labels, &s.Labels); err != nil {
		return nil, err
	}
	if err := decodeText(lastError, &s.LastError); err != nil {
		return nil, err
	}
	if active.TurnID != "" {
		active.Status = sessions.TurnIsRunning
		if s.Status == sessions.StatusWaiting {
			active.Status = sessions.TurnIsWaiting
		}
		s.ActiveTurn = &active
	}
	return &r, nil
}

// findSession returns the session at an address, nil if there is none.
func findSession(ctx context.Context, q querier, owner sessions.Owner, at sessions.Address) (*sessionRow, error) {
	if at.ID != "" {
		return oneSession(ctx, q, q.row(ctx, sessionByID, owner, at.ID))
	}
	return oneSession(ctx, q, q.row(ctx, sessionByKey, owner, at.Key.Target, at.Key.Profile))
}

// liveSession returns the session of a life, nil when the life is over.
func liveSession(ctx context.Context, q querier, life sessions.Incarnation) (*sessionRow, error) {
	return oneSession(ctx, q, q.row(ctx, sessionBySid, life))
}

func oneSession(ctx context.Context, q querier, row scanner) (*sessionRow, error) {
	s, err := scanSession(row)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s, s.readWaiting(ctx, q)
}

// newSession is what a session is born with.
type newSession struct {
	owner    sessions.Owner
	id       sessions.SessionID
	target   string
	profile  string
	agent    sessions.AgentID
	epoch    sessions.Epoch
	title    string
	labels   string
	parent   sessions.SessionID
	location sessions.Location
	now      sessions.Time
}

// createSession stores a session under the owner's generation, and drops the
// tombstones of earlier lives of its id.
func (s *Store) createSession(t *tx, n newSession) (*sessionRow, error) {
	if err := s.tombs.raise(t, n.owner, n.id); err != nil {
		return nil, err
	}
	if _, err := t.exec("INSERT INTO owners (owner) VALUES (?) ON CONFLICT (owner) DO NOTHING", n.owner); err != nil {
		return nil, err
	}
	life, err := t.insert(`INSERT INTO sessions (owner, generation, id, target_key, profile_key, epoch, status, title,
            labels, parent_id, parent_location, agent_id, filed, created_ms, last_active_ms)
        SELECT owner, generation, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM owners WHERE owner = ?`,
		n.id, n.target, n.profile, n.epoch, sessions.StatusCreated, n.title, n.labels, n.parent, n.location, n.agent,
		s.filed, n.now, t.activeAt(n.now), n.owner)
	if err != nil {
		return nil, err
	}
	return liveSession(always, t, sessions.Incarnation(life))
}

// saveSession stores all that a turn's accept, start or end changes, if the row is
// still of the life and epoch from. It answers ErrFenced otherwise.
func saveSession(t *tx, from sessions.Fence, s sessions.Session) error {
	lastError, err := encodeError(s.LastError)
	if err != nil {
		return err
	}
	var active sessions.ActiveTurn
	if s.ActiveTurn != nil {
		active = *s.ActiveTurn
	}
	n, err := t.exec(`UPDATE sessions SET epoch = ?, status = ?, preview = ?, turn_count = ?, message_count = ?,
            frame_count = ?, last_active_ms = ?, active_turn = ?, active_request = ?, active_started_ms = ?,
            queued = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?, calls = ?, last_error = ?
        WHERE sid = ? AND epoch = ? AND deleted_ms IS NULL`,
		s.Fence.Epoch, s.Status, s.Preview, s.TurnCount, s.MessageCount, s.LastFrame, s.LastActiveAt,
		active.TurnID, active.RequestID, active.StartedAt, s.Queued,
		s.Usage.InputTokens, s.Usage.OutputTokens, s.Usage.CachedTokens, s.Usage.Calls, lastError,
		from.Incarnation, from.Epoch)
	return fencedUnlessOne(n, err)
}

// advanceSession stores what a step of a turn changes. It leaves the columns of
// the list's indexes alone, which makes it the cheaper of the two.
func advanceSession(t *tx, s sessions.Session) error {
	n, err := t.exec(`UPDATE sessions SET message_count = ?, frame_count = ?,
            input_tokens = ?, output_tokens = ?, cached_tokens = ?, calls = ?
        WHERE sid = ? AND epoch = ? AND deleted_ms IS NULL`,
		s.MessageCount, s.LastFrame, s.Usage.InputTokens, s.Usage.OutputTokens, s.Usage.CachedTokens, s.Usage.Calls,
		s.Fence.Incarnation, s.Fence.Epoch)
	return fencedUnlessOne(n, err)
}

// raiseEpoch begins another activation of a session.
func raiseEpoch(t *tx, s *sessionRow) error {
	n, err := t.exec("UPDATE sessions SET epoch = epoch + 1 WHERE sid = ? AND epoch = ? AND deleted_ms IS NULL",
		s.Fence.Incarnation, s.Fence.Epoch)
	if err := fencedUnlessOne(n, err); err != nil {
		return err
	}
	s.Fence.Epoch++
	return nil
}

func fencedUnlessOne(changed int64, err error) error {
	if err == nil && changed != 1 {
		return sessions.ErrFenced
	}
	return err
}
