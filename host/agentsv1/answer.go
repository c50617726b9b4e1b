package agentsv1

import (
	"slices"

	"agenthost/host/api"
	"agenthost/sessions"
)

func unknownCall(id sessions.CallID) *problem {
	return invalid("", "Unknown pending tool call: %s", id)
}

// checkCalls refuses results of calls that do not wait, before anything is written.
// A repeat may bring the results of calls that have gone on since.
func (v *visit) checkCalls(at api.Address, key idempotencyKey, events []inputEvent) error {
	if !slices.ContainsFunc(events, isAnswer) {
		return nil
	}
	s, err := v.session(at)
	if err != nil {
		return err
	}
	for _, event := range events {
		result, ok := event.(answered)
		if !ok || waits(s, result) != "" {
			continue
		}
		repeats := false
		if key != "" {
			if repeats, err = v.access.RequestClaimed(v.ctx(), key.of("events")); err != nil {
				return err
			}
		}
		if !repeats {
			return unknownCall(result.call)
		}
	}
	return nil
}

func isAnswer(event inputEvent) bool {
	_, is := event.(answered)
	return is
}

// waits returns what a result's call waits for, "" when it does not wait.
func waits(s sessions.Session, result answered) sessions.PendingKind {
	if activeOf(s) != result.turn {
		return ""
	}
	for _, p := range s.Pending {
		if p.CallID == result.call {
			return p.Kind
		}
	}
	return ""
}

// answer gives a call that waits its result. That of a call that waits for leave to
// run is the leave, or its refusal.
func (in *input) answer(result answered) error {
	args := &api.AnswerArgs{Address: in.at, CallID: result.call, Output: result.answer.Output, Error: result.answer.Error}
	if waits(in.session, result) == sessions.PendingApproval {
		args.Output, args.Error, args.Approve = nil, nil, new(result.answer.Error == nil)
	}
	_, err := in.access.Answer(in.ctx(), args)
	if sessions.CodeOf(err) == sessions.CodeNotFound {
		return unknownCall(result.call)
	}
	return err
}
