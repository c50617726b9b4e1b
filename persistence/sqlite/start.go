package sqlite

import (
	"context"

	"agenthost/sessions"
)

// StartTurn starts the first queued turn; see the port.
func (s *Store) StartTurn(ctx context.Context, c sessions.StartTurn) (sessions.AcceptedTurn, bool, error) {
	started, err := do(ctx, s.writer, func(t *tx) (*sessions.AcceptedTurn, error) { return startQueued(t, c) })
	if sessions.CodeOf(err) == sessions.CodeSessionDamaged {
		s.markDamaged(ctx, c.Fence.Incarnation)
	}
	if err != nil || started == nil {
		return sessions.AcceptedTurn{}, false, err
	}
	return *started, true, nil
}

// startQueued returns nil when there is nothing to start.
func startQueued(t *tx, c sessions.StartTurn) (*sessions.AcceptedTurn, error) {
	session, err := fencedSession(t, c.Fence)
	switch {
	case err != nil:
		return nil, err
	case session.ActiveTurn != nil || session.Queued == 0:
		return nil, nil
	case session.damaged:
		return nil, errDamaged
	}
	prompt, err := firstQueued(t, c.Fence.Incarnation)
	if err != nil || prompt == nil {
		return nil, err
	}
	turn, err := findTurn(always, t, prompt.turn.TurnID)
	if err != nil {
		return nil, err
	}
	user, err := prompt.message(turn.TurnID, session.MessageCount+1, c.Now)
	if err != nil {
		return nil, err
	}
	next, err := sessions.Next(session.Status, sessions.TurnStarted)
	if err != nil {
		return nil, sessions.Errorf(sessions.CodeInternal, "The session cannot start a queued turn.").Because(err)
	}
	bodies := []sessions.FrameBody{sessions.Accepted{QueuedMs: max(int64(c.Now-turn.CreatedAt), 1)},
		sessions.Started{}, sessions.MessageAppended{Message: user}}
	turn.Status, turn.StartedAt = sessions.TurnIsRunning, c.Now
	turn.FirstFrame, turn.UserSeq = session.LastFrame+1, user.Seq
	session.Status = next
	session.Queued--
	session.MessageCount++
	session.LastFrame += int64(len(bodies))
	session.ActiveTurn = &sessions.ActiveTurn{TurnID: turn.TurnID, RequestID: turn.RequestID, Status: turn.Status, StartedAt: c.Now}
	if session.Preview == "" {
		session.Preview = sessions.Preview(user.Content)
	}
	if err := saveStart(t, session, turn, *prompt, bodies); err != nil {
		return nil, err
	}
	t.keep(session, turn)
	return &sessions.AcceptedTurn{Session: session.Session, Turn: turn.Turn, User: &user,
		Frames: numbered(c.Fence.Incarnation, turn.Turn, turn.FirstFrame, c.Now, bodies)}, nil
}

// saveStart stores a turn that leaves the queue.
func saveStart(t *tx, session *sessionRow, turn turnRow, prompt pendingRow, bodies []sessions.FrameBody) error {
	life := session.Fence.Incarnation
	if err := saveSession(t, session.Fence, session.Session); err != nil {
		return err
	}
	if _, err := t.exec("UPDATE turns SET status = ?, started_ms = ?, first_frame = ?, user_seq = ? WHERE num = ?",
		turn.Status, turn.StartedAt, turn.FirstFrame, turn.UserSeq, turn.num); err != nil {
		return err
	}
	if err := insertMessage(t, life, turn.UserSeq, turn.StartedAt, prompt.body); err != nil {
		return err
	}
	if err := removePending(t, prompt); err != nil {
		return err
	}
	accepted, err := encodeFrame(bodies[0])
	if err != nil {
		return err
	}
	rows := []frameRow{accepted, {kind: sessions.FrameStarted, body: emptyBody},
		{kind: sessions.FrameMessage, messageSeq: turn.UserSeq, body: emptyBody}}
	return t.frames(session).append(t, frameBatch{life: life, turn: turn.num, first: turn.FirstFrame, at: turn.StartedAt,
		rows: rows, fresh: true})
}

// fencedSession returns the session of a fence, ErrFenced if it is over.
func fencedSession(t *tx, fence sessions.Fence) (*sessionRow, error) {
	session, known := t.recent.of(fence.Incarnation)
	if !known {
		var err error
		if session, err = liveSession(always, t, fence.Incarnation); err != nil {
			return nil, err
		}
	}
	if session == nil || session.Fence != fence {
		return nil, sessions.ErrFenced
	}
	return session, nil
}
