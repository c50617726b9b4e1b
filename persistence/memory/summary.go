package memory

import (
	"context"
	"slices"

	"agenthost/sessions"
)

// Summary returns the newest summary of a life; see the port.
func (s *Store) Summary(ctx context.Context, life sessions.Incarnation) (sessions.Summary, error) {
	return ofLife(ctx, s, life, func(r *record) (sessions.Summary, error) {
		return r.summaryThrough(r.session.MessageCount), nil
	})
}

// summaryThrough returns the newest summary that stands for no message after one;
// the zero value when there is none.
func (r *record) summaryThrough(through int64) sessions.Summary {
	for _, s := range slices.Backward(r.summaries) {
		if s.ThroughSeq <= through {
			return s
		}
	}
	return sessions.Summary{}
}

// mayFollow refuses the summary of a step that stands for no more than the one
// before it.
func (r *record) mayFollow(c sessions.CommitTurn) error {
	if c.Summary == (sessions.Summary{}) {
		return nil
	}
	messages := r.session.MessageCount + int64(len(c.Messages))
	return c.Summary.Follow(r.summaryThrough(messages), messages)
}

// summarise stores the summary of a step, or of a fork's origin, if it has one.
func (r *record) summarise(s sessions.Summary) {
	if s != (sessions.Summary{}) {
		r.summaries = append(r.summaries, s)
	}
}
