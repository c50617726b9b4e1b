package host

import (
	"context"

	"agenthost/actors"
	"agenthost/host/api"
	"agenthost/sessions"
)

// Answer gives a client's answer to a call that a turn waits for. It is stored when
// Answer returns; the turn goes on once no call waits any more. The same answer
// again is accepted too, also after the call has ended; another one is CONFLICT,
// and a call that never had this answer and does not wait is NOT_FOUND.
func (a *Access) Answer(ctx context.Context, args *api.AnswerArgs) (*api.AnswerResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	if err := a.giveAnswers(ctx, args.Address, []sessions.GivenAnswer{{CallID: args.CallID, Answer: args.CallAnswer()}}); err != nil {
		return nil, err
	}
	return &api.AnswerResult{Accepted: true}, nil
}

// AnswerAll gives several answers, each as Answer would. All of them are stored, or
// none.
func (a *Access) AnswerAll(ctx context.Context, at api.Address, answers []sessions.GivenAnswer) error {
	for _, g := range answers {
		args := api.AnswerArgs{Address: at, CallID: g.CallID, Output: g.Answer.Output, Error: g.Answer.Error, Approve: g.Answer.Approve}
		if err := a.check(args); err != nil {
			return err
		}
	}
	return a.giveAnswers(ctx, at, answers)
}

func (a *Access) giveAnswers(ctx context.Context, at api.Address, answers []sessions.GivenAnswer) error {
	_, err := a.host.system.Answer(ctx, actors.Answer{Owner: a.owner(at.Owner), At: at.At(), Answers: answers})
	return err
}
