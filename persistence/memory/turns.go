package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"agenthost/sessions"
)

// Turns returns a page of a life's turns, newest first; see the port.
func (s *Store) Turns(ctx context.Context, life sessions.Incarnation, q sessions.TurnQuery) (sessions.TurnPage, error) {
	list := fmt.Sprint("turns of ", life)
	from, err := parseCursor(q.Cursor, list)
	if err != nil {
		return sessions.TurnPage{}, err
	}
	newest := func(a, b cursor) int { return cmp.Compare(b.Num, a.Num) }
	place := func(t *turn) cursor { return cursor{List: list, Num: t.num} }
	return ofLife(ctx, s, life, func(r *record) (sessions.TurnPage, error) {
		all := slices.Clone(r.turns)
		if q.After != "" {
			i := slices.IndexFunc(all, func(t *turn) bool { return t.TurnID == q.After })
			switch {
			case i < 0:
				return sessions.TurnPage{}, sessions.ErrNoTurn
			case q.Ascending:
				all = all[i+1:]
			default:
				all = all[:i]
			}
		}
		if q.Ascending {
			newest = func(a, b cursor) int { return cmp.Compare(a.Num, b.Num) }
		} else {
			slices.Reverse(all)
		}
		found, next := page(all, from, q.Limit, place, newest)
		answer := sessions.TurnPage{NextCursor: next}
		for _, t := range found {
			answer.Turns = append(answer.Turns, copyTurn(t.Turn))
		}
		return answer, nil
	})
}

// Turn returns a turn of a life; see the port.
func (s *Store) Turn(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.Turn, error) {
	return s.latest(ctx, life, func(t *turn) bool { return t.TurnID == id })
}

// TurnByRequest returns the latest turn of a request id; see the port.
func (s *Store) TurnByRequest(ctx context.Context, life sessions.Incarnation, id sessions.RequestID) (sessions.Turn, error) {
	return s.latest(ctx, life, func(t *turn) bool { return t.RequestID == id })
}

// latest returns the newest turn of a life that is the one looked for.
func (s *Store) latest(ctx context.Context, life sessions.Incarnation, is func(*turn) bool) (sessions.Turn, error) {
	return ofLife(ctx, s, life, func(r *record) (sessions.Turn, error) {
		for _, t := range slices.Backward(r.turns) {
			if is(t) {
				return copyTurn(t.Turn), nil
			}
		}
		return sessions.Turn{}, sessions.ErrNoTurn
	})
}

// BusyTurns returns all turns that are not terminal; see the port.
func (s *Store) BusyTurns(ctx context.Context) ([]sessions.BusyTurn, error) {
	return read(ctx, s, func() ([]sessions.BusyTurn, error) {
		of, places := map[*turn]*record{}, map[*turn]int{} // 0 for active ones
		var busy []*turn
		for _, r := range s.lives {
			for _, t := range r.turns {
				if !t.Status.Terminal() {
					of[t], busy = r, append(busy, t)
				}
			}
			for i, p := range r.pendingOf("") {
				places[r.turn(p.turn.TurnID)] = i + 1
			}
		}
		slices.SortFunc(busy, func(a, b *turn) int { return cmp.Or(cmp.Compare(places[a], places[b]), cmp.Compare(a.num, b.num)) })
		return busyTurns(busy, of), nil
	})
}

func busyTurns(busy []*turn, of map[*turn]*record) (answer []sessions.BusyTurn) {
	for _, t := range busy {
		answer = append(answer, sessions.BusyTurn{Turn: copyTurn(t.Turn), Session: copySession(of[t].session), Interrupts: of[t].interrupts(t)})
	}
	return answer
}

// interrupts reports whether a queued turn was accepted to interrupt the turn
// that is active still.
func (r *record) interrupts(t *turn) bool {
	if t.Status != sessions.TurnIsQueued || r.session.ActiveTurn == nil {
		return false
	}
	p := r.findPending(t.RequestID)
	return p.place < 0 && !p.steers && r.turn(r.session.ActiveTurn.TurnID).num < t.num
}
