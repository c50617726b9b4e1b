package memory

import (
	"cmp"
	"slices"

	"agenthost/sessions"
)

// prompt is one that is not in the history yet.
type prompt struct {
	turn       sessions.Turn // the queued turn it is of, or will be of
	content    []sessions.Content
	waitsFor   sessions.TurnID // the turn whose next model call reads it; "" when it is queued
	place      int64           // queued turns start in the order of place, then of their accepts
	steers     bool            // it was to steer a turn
	claimTTLMs int64
}

// pendingOf returns the texts that wait for a turn, oldest first, or with "" the
// prompts that are queued, in the order of their start.
func (r *record) pendingOf(turn sessions.TurnID) (found []*prompt) {
	for _, p := range r.pending {
		if p.waitsFor == turn {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b *prompt) int { return cmp.Compare(a.place, b.place) })
	return found
}

// firstQueued returns the prompt whose turn is to start next, nil if there is none.
func (r *record) firstQueued() *prompt {
	if queued := r.pendingOf(""); len(queued) > 0 {
		return queued[0]
	}
	return nil
}

// front returns the place before all that are queued.
func (r *record) front() int64 {
	if first := r.firstQueued(); first != nil {
		return first.place - 1
	}
	return -1
}

// findPending returns the prompt of a request, nil if it has none.
func (r *record) findPending(id sessions.RequestID) *prompt {
	for _, p := range r.pending {
		if p.turn.RequestID == id {
			return p
		}
	}
	return nil
}

func (r *record) removePending(p *prompt) {
	r.pending = slices.DeleteFunc(r.pending, func(have *prompt) bool { return have == p })
}

// addTurn adds a turn behind those there are.
func (s *Store) addTurn(r *record, of sessions.Turn) *turn {
	s.lastTurn++
	t := &turn{num: s.lastTurn, Turn: copyTurn(of)}
	r.turns = append(r.turns, t)
	return t
}

// endPending ends a prompt that has not entered the history, with a turn that
// never started and has its terminal frame only.
func (s *Store) endPending(r *record, p *prompt, end sessions.TurnEnd, now sessions.Time) (*turn, []sessions.Frame) {
	var t *turn
	if p.waitsFor == "" {
		t = r.turn(p.turn.TurnID)
		r.session.Queued--
	} else {
		t = s.addTurn(r, p.turn)
	}
	frames := r.emit(t.Turn, now, end.Frame())
	t.Status, t.Error, t.EndedAt = end.Status, copyError(end.Error), now
	t.FirstFrame, t.LastFrame = r.session.LastFrame, r.session.LastFrame
	r.removePending(p)
	s.moveClaim(r, t.RequestID, t.TurnID, now+sessions.Time(end.ClaimTTLMs))
	return t, frames
}

// moveClaim lets the claim of a session's request name another turn. expires is
// 0 while that has not ended.
func (s *Store) moveClaim(r *record, id sessions.RequestID, to sessions.TurnID, expires sessions.Time) {
	request := ownRequest{r.session.Owner, id}
	if held, ok := s.claims[request]; ok && held.life == r.life() {
		held.turnID, held.expires = to, expires
		s.claims[request] = held
	}
}
