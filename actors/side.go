package actors

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"agenthost/sessions"
)

type (
	// SideQuestion asks the model of a session about the conversation so far, that
	// of a turn under way included, and adds nothing to it. A session has one at a
	// time: the next one ends it with CANCELLED.
	SideQuestion struct {
		Owner    sessions.Owner
		At       sessions.Address
		Question string
		// Gone, if not nil, is closed when nobody waits for the answer any more. The
		// model call ends then.
		Gone  <-chan struct{}
		Reply chan<- SideAnswer
		// Trace is the span that the model call is part of; zero for none.
		Trace trace.SpanContext

		arrival
	}

	// SideAnswer is the answer to a side question, and what its model call consumed.
	SideAnswer struct {
		Text  string
		Usage sessions.Usage
		Err   *sessions.Error // nil when the model has answered
	}
)

func (q *SideQuestion) owner() sessions.Owner      { return q.Owner }
func (q *SideQuestion) address() sessions.Address  { return q.At }
func (q *SideQuestion) refuse(err *sessions.Error) { answer(q.Reply, SideAnswer{Err: err}) }

// Messages to an agent about its side questions.
type (
	// sideFound is the session as the store has it, for a side question that no
	// run can answer for.
	sideFound struct {
		side    *side
		session sessions.Session
		err     error
	}
	// sideEnded: the goroutine of a side question is gone.
	sideEnded struct {
		side   *side
		answer SideAnswer
	}
)

// SideQuestion asks a session's model a question and returns its answer. When ctx
// ends first, so does the model call, and the error is ctx's.
func (s *System) SideQuestion(ctx context.Context, q SideQuestion) (SideAnswer, error) {
	reply := make(chan SideAnswer, 1)
	q.Reply, q.Gone = reply, ctx.Done()
	r, err := ask(ctx, s, &q, reply)
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return r, err
}
