package actors

import (
	"context"

	"agenthost/sessions"
)

// Prompt sends a prompt into the tree. It does not wait: the answers come on
// the prompt's channels, from which the caller may turn away at any time
// without ending the turn. While four times the limit of busy turns are on
// their way, it answers OVERLOADED before any other check.
func (s *System) Prompt(p *Prompt) {
	p.observer = s.deps.observer
	if err := s.deps.admission.enter(); err != nil {
		p.refuse(err)
		return
	}
	p.edge = s.deps.admission
	if !s.send(p) {
		p.refuse(errStopping())
	}
}

// Cancel cancels the active turn of a session, and reports whether it did once
// that is stored. It returns ctx's error when ctx ends first; the cancel goes on.
func (s *System) Cancel(ctx context.Context, c Cancel) (bool, error) {
	reply := make(chan CancelReply, 1)
	c.Reply = reply
	r, err := ask(ctx, s, &c, reply)
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return r.Cancelled, err
}

// Answer gives a client's answer to a call that waits for it, and returns once it
// is stored. It returns ctx's error when ctx ends first; the answer is stored all
// the same.
func (s *System) Answer(ctx context.Context, a Answer) (AnswerReply, error) {
	reply := make(chan AnswerReply, 1)
	a.Reply = reply
	r, err := ask(ctx, s, &a, reply)
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return r, err
}

// Close closes a session. It returns ctx's error when ctx ends first; the close
// goes on.
func (s *System) Close(ctx context.Context, c Close) (sessions.Session, error) {
	reply := make(chan SessionReply, 1)
	c.Reply = reply
	return sessionAnswer(ask(ctx, s, &c, reply))
}

// Detach frees a session from its turn. It returns ctx's error when ctx ends
// first; the detach goes on.
func (s *System) Detach(ctx context.Context, d Detach) (sessions.Session, error) {
	reply := make(chan SessionReply, 1)
	d.Reply = reply
	return sessionAnswer(ask(ctx, s, &d, reply))
}

func sessionAnswer(r SessionReply, err error) (sessions.Session, error) {
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return r.Session, err
}

// Delete ends a session. It returns ctx's error when ctx ends first; the delete
// goes on.
func (s *System) Delete(ctx context.Context, del Delete) (DeleteReply, error) {
	reply := make(chan DeleteReply, 1)
	del.Reply = reply
	return deleteAnswer(ask(ctx, s, &del, reply))
}

// ClearAll ends every session of an owner, as Delete does one.
func (s *System) ClearAll(ctx context.Context, c ClearAll) (DeleteReply, error) {
	reply := make(chan DeleteReply, 1)
	c.Reply = reply
	return deleteAnswer(ask(ctx, s, &c, reply))
}

func deleteAnswer(r DeleteReply, err error) (DeleteReply, error) {
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return r, err
}

// ask sends a message to the root and waits for its answer, ctx, or the end of
// the system.
func ask[R any](ctx context.Context, s *System, msg any, reply <-chan R) (R, error) {
	if !s.send(msg) {
		var none R
		return none, errStopping()
	}
	return await(ctx, s, reply)
}

// await waits for an answer, ctx, or the end of the system.
func await[R any](ctx context.Context, s *System, reply <-chan R) (R, error) {
	var none R
	select {
	case r := <-reply:
		return r, nil
	case <-ctx.Done():
		return none, ctx.Err()
	case <-s.stopped:
	}
	select {
	case r := <-reply: // given just before the end
		return r, nil
	default:
		return none, errStopping()
	}
}

// send passes a message to the root, unless there is none any more.
func (s *System) send(msg any) bool {
	select {
	case <-s.stopped:
		return false
	default:
		s.deps.send(s.deps.root, msg)
		return true
	}
}

// Wait waits for the reply to a prompt that was sent with Prompt. Its error is
// ctx's when ctx ends first, and HOST_STOPPING when the system does; the turn
// goes on, or is taken up at the next start. How the prompt itself ended is said
// by the reply.
func (s *System) Wait(ctx context.Context, reply <-chan PromptReply) (PromptReply, error) {
	return await(ctx, s, reply)
}
