package actors

import (
	"context"

	"agenthost/sessions"
)

type (
	// Answer gives a client's answer to a call that waits for it. The turn goes on
	// when no call waits any more.
	Answer struct {
		Owner  sessions.Owner
		At     sessions.Address
		CallID sessions.CallID
		Answer sessions.CallAnswer
		Reply  chan<- AnswerReply

		arrival
	}

	// AnswerReply says that the answer is stored, now or by an equal request before.
	AnswerReply struct {
		Session sessions.Session // with the calls that still wait as its Pending
		TurnID  sessions.TurnID
		Repeat  bool
		Err     *sessions.Error // nil when the answer is stored
	}
)

func (m *Answer) owner() sessions.Owner      { return m.Owner }
func (m *Answer) address() sessions.Address  { return m.At }
func (m *Answer) refuse(err *sessions.Error) { answer(m.Reply, AnswerReply{Err: err}) }

// answeredCall is the store's answer to what Answer asked.
type answeredCall struct {
	request *Answer
	done    sessions.AnsweredCall
	err     error
}

// handleAnswer stores an answer. What comes meanwhile waits, so that a cancel behind
// it finds it stored.
func (a *agent) handleAnswer(msg *Answer) {
	given, err := checkAnswer(msg.Answer)
	switch {
	case err != nil:
		msg.refuse(err)
		return
	case a.run != nil && a.run.stalled && a.run.isEnded():
		msg.refuse(sessions.ErrOutcomeUnknown) // whether the turn has ended is not known before the store is back
		return
	}
	cmd := sessions.AnswerCall{Owner: a.ident.owner, At: a.address(), CallID: msg.CallID, Answer: given, Now: a.deps.nowMs()}
	a.busy, a.replying = true, msg
	r, d, self := a.run, a.deps, a.self
	d.background(func(ctx context.Context) {
		store := d.store.AnswerCall
		if r != nil {
			store = r.answerCall
		}
		done, err := store(ctx, cmd)
		d.send(self, &answeredCall{msg, done, err})
	})
}

// checkAnswer returns an answer in the form in which it is stored.
func checkAnswer(given sessions.CallAnswer) (sessions.CallAnswer, *sessions.Error) {
	fields := 0
	for _, set := range []bool{given.Output != nil, given.Error != nil, given.Approve != nil} {
		if set {
			fields++
		}
	}
	if fields != 1 {
		return given, sessions.InvalidField("/args", "An answer has exactly one of output, error and approve.")
	}
	if given.Output == nil {
		return given, nil
	}
	output, err := canonical(given.Output)
	if err != nil {
		return given, sessions.InvalidField("/args/output", "The output %s.", err)
	}
	given.Output = output
	return given, nil
}

// handleAnsweredCall tells who has answered, and those who follow the owner.
func (a *agent) handleAnsweredCall(msg *answeredCall) {
	waits := a.replying != nil
	a.busy, a.replying = false, nil
	if msg.err != nil {
		if waits {
			msg.request.refuse(a.partingError(msg.err))
		}
		return
	}
	if !msg.done.Repeat {
		a.tellChanged(sessions.SessionUpdated, msg.done.Session)
	}
	if waits {
		answer(msg.request.Reply, AnswerReply{Session: msg.done.Session, TurnID: msg.done.TurnID, Repeat: msg.done.Repeat})
	}
}
