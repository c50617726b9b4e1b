package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"agenthost/sessions"
)

// commitment is a step of a turn on its way into the store.
type commitment struct {
	c        sessions.CommitTurn
	messages []body
	bodies   []sessions.FrameBody // the frames in order, the terminal one last
	frames   []frameRow           // the same as rows
	state    []stateRow
	waits    []body // the calls of Wait
	keep     int64  // how many frames the session keeps; negative for all
}

type stateRow struct {
	name string
	body body
}

// CommitTurn stores a step of a turn; see the port.
func (s *Store) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	p, err := prepareCommit(c)
	if err != nil {
		return sessions.CommittedTurn{}, err
	}
	p.keep = s.keep
	done, err := do(ctx, s.writer, p.run)
	if sessions.CodeOf(err) == sessions.CodeSessionDamaged {
		s.markDamaged(ctx, c.Fence.Incarnation)
	}
	return done, err
}

// prepareCommit does in the caller's goroutine what needs no look at the store.
// Nothing of c is used by reference afterwards, since the caller may give up.
func prepareCommit(c sessions.CommitTurn) (*commitment, error) {
	p := &commitment{c: c}
	p.c.Messages = slices.Clone(c.Messages)
	for i := range p.c.Messages {
		m := &p.c.Messages[i]
		*m = c.Completed(*m)
		sealedBody, err := encodeMessage(*m)
		if err != nil {
			return nil, err
		}
		p.messages = append(p.messages, sealedBody)
	}
	if err := p.prepareWait(); err != nil {
		return nil, err
	}
	bodies := slices.Clone(c.Frames)
	if len(c.Wait) > 0 {
		bodies = append(bodies, sessions.Waiting{Pending: p.c.Wait})
	}
	if c.End != nil {
		end := *c.End
		p.c.End = &end
		bodies = append(bodies, end.Frame())
	}
	for i, b := range bodies {
		if err := p.addFrame(b, c.End != nil && i == len(bodies)-1); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.State)) {
		p.state = append(p.state, stateRow{name, sealed(bytes.Clone(c.State[name]))})
	}
	p.c.State = map[string]json.RawMessage{}
	return p, nil
}

// addFrame prepares one frame. One about a message of the same commit refers to
// it, if it tells exactly what is stored.
func (p *commitment) addFrame(b sessions.FrameBody, last bool) error {
	kind := sessions.Frame{Body: b}.Type()
	if kind == sessions.FrameDelta || kind == sessions.FrameGap || kind.Terminal() && !last {
		return sessions.Errorf(sessions.CodeInternal, "A step cannot store a frame of type %q.", kind)
	}
	if appended, ok := b.(sessions.MessageAppended); ok {
		appended.Message = p.c.Completed(appended.Message)
		p.bodies = append(p.bodies, appended)
		if seq, err := p.refersTo(appended.Message); err != nil || seq > 0 {
			p.frames = append(p.frames, frameRow{kind: kind, messageSeq: seq, body: emptyBody})
			return err
		}
		b = appended
	} else {
		p.bodies = append(p.bodies, b)
	}
	row, err := encodeFrame(b)
	p.frames = append(p.frames, row)
	return err
}

// refersTo returns the seq of m if the commit stores exactly m, else 0.
func (p *commitment) refersTo(m sessions.Message) (int64, error) {
	i := slices.IndexFunc(p.c.Messages, func(have sessions.Message) bool { return have.Seq == m.Seq })
	if i < 0 || p.c.Messages[i].CreatedAt != m.CreatedAt {
		return 0, nil
	}
	if reflect.DeepEqual(p.c.Messages[i], m) { // as it nearly always is, and cheaper to find out
		return m.Seq, nil
	}
	same, err := encodeMessage(m)
	if err != nil || !bytes.Equal(same.json, p.messages[i].json) {
		return 0, err
	}
	return m.Seq, nil
}

func (p *commitment) run(t *tx) (sessions.CommittedTurn, error) {
	var none sessions.CommittedTurn
	session, turn, err := p.load(t)
	if err != nil {
		return none, err
	}
	steered, err := p.readSteering(t, session, turn)
	if err != nil {
		return none, err
	}
	left, err := p.unread(t, turn)
	if err != nil {
		return none, err
	}
	if p.c.Resume != nil {
		turn.Attempts, turn.ResumedAt = p.c.Resume.Attempts, p.c.Now
		turn.WaitedMs += p.c.Resume.AwayMs
		if err := raiseEpoch(t, session); err != nil {
			return none, err
		}
	}
	first := session.LastFrame + 1
	session.MessageCount += int64(len(p.messages) + len(steered.messages))
	session.LastFrame += int64(len(p.frames) + len(steered.rows))
	session.Usage = session.Usage.Plus(p.c.Usage)
	turn.Usage = turn.Usage.Plus(p.c.Usage)
	turn.Iterations = max(turn.Iterations, p.c.Iterations)
	if p.c.End != nil && p.c.End.Status != sessions.TurnIsCancelled {
		session.Queued += int64(len(left))
	}
	if err := p.move(t, session, &turn); err != nil {
		return none, err
	}
	if err := saveTurn(t, turn); err != nil {
		return none, err
	}
	if err := p.append(t, session, turn.num, first, steered); err != nil {
		return none, err
	}
	queued, err := p.queueUnread(t, session.Owner, left)
	if err != nil {
		return none, err
	}
	if err := p.retain(t, session, turn); err != nil {
		return none, err
	}
	t.keep(session, turn)
	return sessions.CommittedTurn{Session: session.Session, Turn: turn.Turn,
		Steered: steered.messages, SteeredBy: steered.by, Queued: queued,
		Frames: numbered(p.c.Fence.Incarnation, turn.Turn, first, p.c.Now, slices.Concat(p.bodies, steered.bodies))}, nil
}

// load returns the session and the turn if the commit may be written to them.
func (p *commitment) load(t *tx) (*sessionRow, turnRow, error) {
	session, turn, err := p.read(t)
	if err != nil {
		return nil, turnRow{}, err
	}
	if turn.Status.Terminal() {
		return nil, turnRow{}, sessions.ErrTurnEnded
	}
	if turn.Status == sessions.TurnIsQueued {
		return nil, turnRow{}, sessions.Errorf(sessions.CodeInternal, "The turn %q is queued; it has to start before its first step.", turn.TurnID)
	}
	if err := p.mayFollow(t, turn); err != nil {
		return nil, turnRow{}, err
	}
	for i, m := range p.c.Messages {
		if want := session.MessageCount + 1 + int64(i); m.Seq != want {
			return nil, turnRow{}, sessions.Errorf(sessions.CodeInternal, "A step's message has seq %d where the history goes on with %d.", m.Seq, want)
		}
	}
	return session, turn, nil
}

// read returns the session and the turn if they are of the commit's fence.
func (p *commitment) read(t *tx) (*sessionRow, turnRow, error) {
	life := p.c.Fence.Incarnation
	session, turn, known := t.recent.active(life, p.c.TurnID)
	if !known {
		var err error
		if session, err = liveSession(always, t, life); err != nil {
			return nil, turnRow{}, err
		}
	}
	if session == nil || session.Fence != p.c.Fence {
		return nil, turnRow{}, sessions.ErrFenced
	}
	if known {
		return session, turn, nil
	}
	turn, err := findTurn(always, t, p.c.TurnID)
	if errors.Is(err, sql.ErrNoRows) || err == nil && turn.life != life {
		return nil, turnRow{}, sessions.Errorf(sessions.CodeInternal, "The session has no turn %q.", p.c.TurnID)
	}
	return session, turn, err
}

// move takes turn and session to where the step leads.
func (p *commitment) move(t *tx, session *sessionRow, turn *turnRow) error {
	if err := p.leaveWait(t, session, turn); err != nil {
		return err
	}
	switch {
	case p.c.End != nil:
		return p.end(t, session, turn)
	case len(p.c.Wait) > 0:
		return p.wait(t, session, turn)
	case p.c.GoOn:
		return p.goOn(t, session, turn)
	default:
		return advanceSession(t, session.Session)
	}
}

// end moves turn and session to where the end leads, and starts the claim's
// last period of life.
func (p *commitment) end(t *tx, session *sessionRow, turn *turnRow) error {
	end := p.c.End
	next, err := end.After(turn.Status, session.Status)
	if err != nil {
		return err
	}
	turn.Status, turn.Error, turn.FinalSeq = end.Status, end.Error, end.FinalSeq
	turn.EndedAt, turn.LastFrame = p.c.Now, session.LastFrame
	session.Status = next
	session.TurnCount++
	session.ActiveTurn = nil
	session.LastActiveAt = t.activeAt(p.c.Now)
	if next == sessions.StatusFailed {
		session.LastError = end.Error
	} else if !session.damaged {
		session.LastError = nil
	}
	from := session.Fence
	if end.Detached {
		session.Fence.Epoch++
	}
	if err := saveSession(t, from, session.Session); err != nil {
		return err
	}
	return p.endClaims(t, session.Owner, *turn)
}

// endClaims starts the last period of life of the claims that name the turn: its
// own, and those of the text it was sent.
func (p *commitment) endClaims(t *tx, owner sessions.Owner, turn turnRow) error {
	expires := p.c.Now + sessions.Time(p.c.End.ClaimTTLMs)
	_, err := t.exec("UPDATE dedupe_claims SET expires_ms = ? WHERE owner = ? AND request_id = ? AND turn_id = ?",
		expires, owner, turn.RequestID, turn.TurnID)
	if err != nil || turn.steered == 0 {
		return err
	}
	_, err = t.exec("UPDATE dedupe_claims SET expires_ms = ? WHERE sid = ? AND turn_id = ?", expires, turn.life, turn.TurnID)
	return err
}

// append stores the rows that a step adds.
func (p *commitment) append(t *tx, session *sessionRow, turn, firstFrame int64, steered steering) error {
	life := p.c.Fence.Incarnation
	for i, m := range p.c.Messages {
		if err := insertMessage(t, life, m.Seq, m.CreatedAt, p.messages[i]); err != nil {
			return err
		}
	}
	if err := steered.store(t, life); err != nil {
		return err
	}
	frames := frameBatch{life: life, turn: turn, first: firstFrame, at: p.c.Now, rows: slices.Concat(p.frames, steered.rows),
		last: p.c.End != nil}
	if err := t.frames(session).append(t, frames); err != nil {
		return err
	}
	if err := saveState(t, life, p.state, p.c.Now); err != nil {
		return err
	}
	if err := saveSummary(t, session, p.c); err != nil {
		return err
	}
	return addUsage(t, session.Owner, sessions.AddUsage{Life: life, Model: p.c.Model, Usage: p.c.Usage, Now: p.c.Now})
}
