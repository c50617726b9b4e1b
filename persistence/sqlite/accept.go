package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"agenthost/sessions"
)

// acceptance is a prompt on its way into the store, with all the work done that
// needs no look at the store.
type acceptance struct {
	store *Store
	c     sessions.AcceptTurn
	hash  []byte // of the request id, for tombstones
	user  sessions.Message
	body  body
	born  newSession     // what is made when there is no session
	state []stateRow     // and what that begins with
	again *sessions.Turn // the turn to take up, found by check; nil for a prompt
}

// AcceptTurn stores a prompt; see the port for the order of its checks.
func (s *Store) AcceptTurn(ctx context.Context, c sessions.AcceptTurn) (sessions.AcceptedTurn, error) {
	a := &acceptance{store: s, c: c, hash: s.tombs.request(c.Owner, c.Request.ID)}
	a.user = sessions.Message{Role: sessions.RoleUser, Content: slices.Clone(c.Content), TurnID: c.TurnID, CreatedAt: c.Now}
	if c.Retry == nil {
		var err error
		if a.body, err = encodeMessage(a.user); err != nil {
			return sessions.AcceptedTurn{}, err
		}
	}
	if err := a.prepareSession(); err != nil {
		return sessions.AcceptedTurn{}, err
	}
	return do(ctx, s.writer, a.run)
}

// prepareSession says what session is made when the address has none.
func (a *acceptance) prepareSession() (err error) {
	c := a.c
	a.born = newSession{owner: c.Owner, id: c.NewID, target: c.At.Key.Target, profile: c.At.Key.Profile, labels: "{}", now: c.Now}
	if c.Begin == nil || c.At.ID == "" {
		return nil
	}
	a.born.id, a.born.profile, a.born.agent, a.state = c.At.ID, c.Begin.Profile, c.Begin.AgentID, sealedState(c.Begin.State)
	a.born.labels, err = encodeLabels(c.Begin.Labels)
	return err
}

func (a *acceptance) run(t *tx) (sessions.AcceptedTurn, error) {
	claim, err := findClaim(always, t, a.c.Owner, a.c.Request.ID, a.hash, a.c.Now)
	if err != nil {
		return sessions.AcceptedTurn{}, err
	}
	if claim != nil {
		return a.duplicate(t, claim)
	}
	session, known := t.recent.at(a.c.Fence.Incarnation, a.c.Owner, a.c.At)
	if !known {
		if session, err = findSession(always, t, a.c.Owner, a.c.At); err != nil {
			return sessions.AcceptedTurn{}, err
		}
	}
	if err := a.check(t, session); err != nil {
		return sessions.AcceptedTurn{}, err
	}
	if session != nil && session.busy() != nil {
		return a.keepAside(t, session)
	}
	if err := a.findRetried(t, session); err != nil {
		return sessions.AcceptedTurn{}, err
	}
	if !a.c.Admitted {
		return sessions.AcceptedTurn{}, sessions.ErrNotAdmitted
	}
	return a.write(t, session)
}

// duplicate answers a repeat with what is stored, and writes nothing.
func (a *acceptance) duplicate(t *tx, claim *claimRow) (sessions.AcceptedTurn, error) {
	var none sessions.AcceptedTurn
	if err := claim.repeated(a.c.Request.Fingerprint); err != nil {
		return none, err
	}
	if claim.TurnID == "" {
		return none, sessions.ErrOtherRequest
	}
	session, err := liveSession(always, t, claim.Life)
	if err != nil {
		return none, err
	}
	if session == nil {
		return none, sessions.ErrRequestDeleted
	}
	turn, err := findTurn(always, t, claim.TurnID)
	if err != nil {
		return none, err
	}
	answer := sessions.AcceptedTurn{Session: session.Session, Turn: turn.Turn, Duplicate: true}
	if turn.steered > 0 && turn.RequestID != a.c.Request.ID {
		text, err := findPending(t, claim.Life, a.c.Request.ID)
		if err != nil {
			return none, err
		}
		answer.Steers = text != nil
	}
	if turn.Status.Terminal() && turn.FinalSeq > 0 {
		final, err := messageAt(always, t, claim.Life, turn.FinalSeq)
		if err != nil {
			return none, err
		}
		answer.Final = &final
	}
	return answer, nil
}

// check refuses what may neither start nor wait; session is nil for an address without one.
func (a *acceptance) check(t *tx, session *sessionRow) error {
	c := a.c
	generation, err := a.generation(t, session)
	if err != nil {
		return err
	}
	stale := c.Generation != 0 && c.Generation != generation
	switch {
	case session == nil && c.At.ID != "" && c.Begin == nil:
		return sessions.ErrNoSession
	case c.Refusal != nil:
		return c.Refusal
	case session == nil:
		if stale || c.Fence != (sessions.Fence{}) {
			return sessions.ErrFenced
		}
	case session.Status == sessions.StatusClosed:
		return sessions.ErrSessionClosed
	case session.damaged:
		return errDamaged
	case stale, c.Fence.Incarnation != 0 && c.Fence.Incarnation != session.Fence.Incarnation:
		return sessions.ErrFenced
	default:
		return a.checkActivation(session)
	}
	return nil
}

// checkActivation refuses a prompt that minds a busy session, and one of an old
// activation.
func (a *acceptance) checkActivation(session *sessionRow) error {
	if busy := session.busy(); busy != nil && a.minds() {
		return busy
	}
	if a.c.Fence != (sessions.Fence{}) && a.c.Fence != session.Fence {
		return sessions.ErrFenced
	}
	return nil
}

// minds reports whether the prompt is refused by a busy session.
func (a *acceptance) minds() bool {
	switch a.c.Busy {
	case sessions.BusyQueue, sessions.BusyInterrupt, sessions.BusySteer:
		return a.c.Retry != nil
	default:
		return true
	}
}

// generation returns the owner's generation. A session that can be found is of
// it, since a clear hides the others.
func (a *acceptance) generation(t *tx, session *sessionRow) (int64, error) {
	if session != nil {
		return session.generation, nil
	}
	return generation(always, t, a.c.Owner)
}

func (a *acceptance) write(t *tx, session *sessionRow) (sessions.AcceptedTurn, error) {
	var none sessions.AcceptedTurn
	c := a.c
	made := session == nil
	if made {
		created, err := a.store.createSession(t, a.born)
		if err != nil {
			return none, err
		}
		if err := saveState(t, created.Fence.Incarnation, a.state, c.Now); err != nil {
			return none, err
		}
		session = created
	}
	before := session.Fence
	turn, user, err := a.start(t, &session.Session)
	if err != nil {
		return none, err
	}
	if err := saveSession(t, before, session.Session); err != nil {
		return none, err
	}
	num, err := insertTurn(t, before.Incarnation, turn)
	if err != nil {
		return none, err
	}
	rows := []frameRow{{kind: sessions.FrameAccepted, body: emptyBody}, {kind: sessions.FrameStarted, body: emptyBody}}
	bodies := []sessions.FrameBody{sessions.Accepted{}, sessions.Started{}}
	if user != nil {
		if err := insertMessage(t, before.Incarnation, user.Seq, user.CreatedAt, a.body); err != nil {
			return none, err
		}
		rows = append(rows, frameRow{kind: sessions.FrameMessage, messageSeq: user.Seq, body: emptyBody})
		bodies = append(bodies, sessions.MessageAppended{Message: *user})
	}
	frames := frameBatch{life: before.Incarnation, turn: num, first: turn.FirstFrame, at: c.Now, rows: rows, fresh: true}
	if err := t.frames(session).append(t, frames); err != nil {
		return none, err
	}
	claim := claimRow{Claim: sessions.Claim{Life: before.Incarnation, TurnID: c.TurnID}}
	if err := insertClaim(t, c.Owner, c.Request, claim, sql.Null[sessions.Time]{}); err != nil {
		return none, err
	}
	t.keep(session, turnRow{Turn: turn, num: num, life: before.Incarnation})
	return sessions.AcceptedTurn{Session: session.Session, Turn: turn, User: user, Created: made,
		Frames: numbered(before.Incarnation, turn, turn.FirstFrame, c.Now, bodies)}, nil
}

// start moves the session to running and returns the turn and its prompt as
// they are to be stored; the prompt is nil when the turn takes up another.
func (a *acceptance) start(t *tx, s *sessions.Session) (sessions.Turn, *sessions.Message, error) {
	next, err := sessions.Next(s.Status, sessions.TurnStarted)
	if err != nil {
		return sessions.Turn{}, nil, err
	}
	c := a.c
	turn := sessions.Turn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: sessions.TurnIsRunning, CreatedAt: c.Now,
		StartedAt: c.Now, Limits: c.Limits, Inference: c.Inference, FirstFrame: s.LastFrame + 1}
	var user *sessions.Message
	s.LastFrame += 2
	if a.again != nil {
		turn.UserSeq, turn.Inference = a.again.UserSeq, a.again.Inference
	} else {
		prompt := a.user
		prompt.Seq = s.MessageCount + 1
		user, turn.UserSeq = &prompt, prompt.Seq
		s.MessageCount++
		s.LastFrame++
	}
	s.Status = next
	s.LastActiveAt = t.activeAt(c.Now)
	s.ActiveTurn = &sessions.ActiveTurn{TurnID: c.TurnID, RequestID: c.Request.ID, Status: turn.Status, StartedAt: c.Now}
	if s.Preview == "" {
		s.Preview = sessions.Preview(c.Content)
	}
	if c.Fence == (sessions.Fence{}) {
		s.Fence.Epoch++
	}
	return turn, user, nil
}

// findRetried finds the turn that a retry takes up: the session's last one, if
// it has ended without an answer.
func (a *acceptance) findRetried(t *tx, session *sessionRow) error {
	a.again = nil
	if a.c.Retry == nil {
		return nil
	}
	if session == nil {
		return sessions.ErrNoSession
	}
	// Queued turns may have started in another order than they were stored in, and
	// those that never did have nothing to take up.
	last, err := scanTurn(t.row(always, "SELECT "+turnColumns+` FROM turns WHERE num =
        (SELECT num FROM turns WHERE sid = ? AND user_seq > 0 ORDER BY first_frame DESC LIMIT 1)`, session.Fence.Incarnation))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return sessions.ErrNothingToRetry
	case err != nil:
		return err
	case *a.c.Retry != "" && *a.c.Retry != last.TurnID:
		return sessions.ErrNotLastTurn
	case last.Status == sessions.TurnIsCompleted:
		return sessions.ErrNothingToRetry
	}
	a.again = &last.Turn
	return nil
}
