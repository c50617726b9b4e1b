package memory

import (
	"context"

	"agenthost/sessions"
)

// Frames returns a range of a life's frames; see the port.
func (s *Store) Frames(ctx context.Context, life sessions.Incarnation, q sessions.FrameQuery) (sessions.FramePage, error) {
	return ofLife(ctx, s, life, func(r *record) (sessions.FramePage, error) {
		page := sessions.FramePage{Last: r.session.LastFrame}
		from, to, ok := r.frameRange(q)
		if !ok {
			return page, nil
		}
		page.HasMore = span(max(from, r.firstFrame), to, q.Descending, func(seq int64) bool {
			f := r.frames[seq-r.firstFrame]
			if q.TurnID != "" && q.TurnID != f.TurnID {
				return true
			}
			if q.Limit > 0 && len(page.Frames) == q.Limit {
				return false
			}
			page.Frames = append(page.Frames, copyFrame(f))
			return true
		})
		// What is lacking comes first, unless the page is read backwards.
		if lost := min(to, r.firstFrame-1); from <= lost && (!q.Descending || !page.HasMore) {
			page.Missing = []sessions.Gap{{From: from, To: lost}}
		}
		return page, nil
	})
}

// frameRange returns the first and the last seq that a query is about. The frames
// of one turn are looked for between its first and its last only.
func (r *record) frameRange(q sessions.FrameQuery) (from, to int64, ok bool) {
	from, to = max(q.AfterSeq, 0)+1, r.session.LastFrame
	if q.BeforeSeq > 0 {
		to = min(to, q.BeforeSeq-1)
	}
	if q.TurnID == "" {
		return from, to, true
	}
	t := r.turn(q.TurnID)
	if t == nil {
		return 0, 0, false
	}
	if t.LastFrame > 0 {
		to = min(to, t.LastFrame)
	}
	return max(from, t.FirstFrame), to, true
}
