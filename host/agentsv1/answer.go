package agentsv1

import (
	"agenthost/host/api"
	"agenthost/sessions"
)

func unknownCall(id sessions.CallID) *problem {
	return invalid("", "Unknown pending tool call: %s", id)
}

// checkResults refuses results of calls that do not wait, and those that are too
// large, before anything is written. A repeat may bring the results of calls that
// have gone on since.
func (v *visit) checkResults(at api.Address, key idempotencyKey, results answered) error {
	s, err := v.session(at)
	if err != nil {
		return err
	}
	repeats := false
	if key != "" {
		if repeats, err = v.access.RequestClaimed(v.ctx(), key.of("events")); err != nil {
			return err
		}
	}
	for _, r := range results {
		if !repeats && waits(s, r) == "" {
			return unknownCall(r.call)
		}
		args := api.AnswerArgs{Address: at, CallID: r.call, Output: r.answer.Output, Error: r.answer.Error}
		if err := args.Validate(v.config.Limits); err != nil {
			return err
		}
	}
	return nil
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

// answer gives calls that wait their results, all of them or none. The result of a
// call that waits for leave to run is the leave, or its refusal.
func (in *input) answer(results answered) error {
	given := make([]sessions.GivenAnswer, len(results))
	for i, r := range results {
		given[i] = sessions.GivenAnswer{CallID: r.call, Answer: r.answer}
		if waits(in.session, r) == sessions.PendingApproval {
			given[i].Answer = sessions.CallAnswer{Approve: new(r.answer.Error == nil)}
		}
	}
	err := in.access.AnswerAll(in.ctx(), in.at, given)
	if sessions.CodeOf(err) == sessions.CodeNotFound {
		return unknownCall(results[0].call)
	}
	return err
}
