package actors

import (
	"context"
	"slices"

	"agenthost/sessions"
)

type (
	// Answer gives a client's answers to calls that wait for them, at least one; all
	// are taken or none. The turn goes on when no call waits any more.
	Answer struct {
		Owner   sessions.Owner
		At      sessions.Address
		Answers []sessions.GivenAnswer
		Request *sessions.Request // nil for one that is never repeated, or only call by call
		Reply   chan<- AnswerReply

		arrival
	}

	// AnswerReply says that the answers are stored, now or by equal requests before.
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

// answeredCalls is the store's answer to what Answer asked.
type answeredCalls struct {
	request *Answer
	done    sessions.AnsweredCalls
	err     error
}

// handleAnswer stores answers. What comes meanwhile waits, so that a cancel behind
// it finds it stored.
func (a *agent) handleAnswer(msg *Answer) {
	given, err := checkAnswers(msg.Answers)
	switch {
	case err != nil:
		msg.refuse(err)
		return
	case a.run != nil && a.run.stalled && a.run.isEnded():
		msg.refuse(sessions.ErrOutcomeUnknown) // whether the turn has ended is not known before the store is back
		return
	}
	cmd := sessions.AnswerCalls{Owner: a.ident.owner, At: a.address(), Answers: given, Request: msg.Request, Now: a.deps.nowMs()}
	a.busy, a.replying = true, msg
	r, d, self := a.run, a.deps, a.self
	d.background(func(ctx context.Context) {
		store := d.store.AnswerCalls
		if r != nil {
			store = r.answerCalls
		}
		done, err := store(ctx, cmd)
		d.send(self, &answeredCalls{msg, done, err})
	})
}

// checkAnswers returns answers in the form in which they are stored.
func checkAnswers(given []sessions.GivenAnswer) ([]sessions.GivenAnswer, *sessions.Error) {
	if len(given) == 0 {
		return nil, sessions.InvalidField("/args", "There is no answer; give at least one.")
	}
	checked := slices.Clone(given)
	for i := range checked {
		var err *sessions.Error
		if checked[i].Answer, err = checkAnswer(checked[i].Answer); err != nil {
			return nil, err
		}
	}
	return checked, nil
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

// handleAnsweredCalls tells who has answered, and those who follow the owner.
func (a *agent) handleAnsweredCalls(msg *answeredCalls) {
	waits := a.replying != nil
	a.busy, a.replying = false, nil
	if msg.err != nil {
		if waits {
			msg.request.refuse(a.partingError(msg.err))
		}
		return
	}
	if frames := msg.done.Frames; len(frames) > 0 {
		a.tellChanged(sessions.SessionUpdated, msg.done.Session, frames[0].At)
	}
	if waits {
		answer(msg.request.Reply, AnswerReply{Session: msg.done.Session, TurnID: msg.done.TurnID, Repeat: msg.done.Repeat})
	}
}
