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
	given := []sessions.GivenAnswer{{CallID: args.CallID, Answer: args.CallAnswer()}}
	if err := a.giveAnswers(ctx, args.Address, given, nil); err != nil {
		return nil, err
	}
	return &api.AnswerResult{Accepted: true}, nil
}

// AnswerAll gives several answers, each as Answer would. All of them are stored, or
// none. A repeat of the request c, unless that has no id, does nothing.
func (a *Access) AnswerAll(ctx context.Context, c Claim, answers []sessions.GivenAnswer) error {
	for _, g := range answers {
		args := api.AnswerArgs{Address: c.Address, CallID: g.CallID, Output: g.Answer.Output, Error: g.Answer.Error, Approve: g.Answer.Approve}
		if err := a.check(args); err != nil {
			return err
		}
	}
	return a.giveAnswers(ctx, c.Address, answers, a.request(c.RequestID, c.Fingerprint))
}

func (a *Access) giveAnswers(ctx context.Context, at api.Address, answers []sessions.GivenAnswer, request *sessions.Request) error {
	_, err := a.host.system.Answer(ctx, actors.Answer{Owner: a.owner(at.Owner), At: at.At(), Answers: answers, Request: request})
	return err
}
