package agentsv1

import (
	"agenthost/host/api"
	"agenthost/sessions"
)

func unknownCall(id sessions.CallID) *problem {
	return invalid("", "Unknown pending tool call: %s", id)
}

// answer gives calls that wait their results, all of them or none. The result of a
// call that waits for leave to run is the leave, or its refusal.
func (in *input) answer(s sessions.Session, results answered) error {
	given := make([]sessions.GivenAnswer, len(results))
	for i, r := range results {
		kind := waits(s, r)
		if kind == "" {
			return unknownCall(r.call)
		}
		// What is too large is so for any call.
		args := api.AnswerArgs{Address: in.claim.Address, CallID: r.call, Output: r.answer.Output, Error: r.answer.Error}
		if err := args.Validate(in.config.Limits); err != nil {
			return err
		}
		given[i] = sessions.GivenAnswer{CallID: r.call, Answer: r.answer}
		if kind == sessions.PendingApproval {
			given[i].Answer = sessions.CallAnswer{Approve: new(r.answer.Error == nil)}
		}
	}
	err := in.access.AnswerAll(in.ctx(), in.claim, given)
	switch sessions.CodeOf(err) {
	case sessions.CodeNotFound, sessions.CodeConflict, sessions.CodeInvalidRequest:
		return in.overtaken(results, err)
	}
	return err
}

// overtaken says why results were refused of calls that have waited a moment before:
// one of them has got its result meanwhile, or its turn has ended.
func (in *input) overtaken(results answered, err error) error {
	s, gone := in.session(in.claim.Address)
	if gone != nil {
		return gone
	}
	for _, r := range results {
		if waits(s, r) == "" {
			return unknownCall(r.call)
		}
	}
	return err
}

// waits returns what a result's call waits for, "" when it does not wait.
func waits(s sessions.Session, r result) sessions.PendingKind {
	if activeOf(s) != r.turn {
		return ""
	}
	for _, p := range s.Pending {
		if p.CallID == r.call {
			return p.Kind
		}
	}
	return ""
}
