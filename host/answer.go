package host

import (
	"context"

	"agenthost/actors"
	"agenthost/host/api"
)

// Answer gives a client's answer to a call that a turn waits for. It is stored when
// Answer returns; the turn goes on once no call waits any more. The same answer
// again is accepted too, also after the call has ended; another one is CONFLICT,
// and a call that never had this answer and does not wait is NOT_FOUND.
func (a *Access) Answer(ctx context.Context, args *api.AnswerArgs) (*api.AnswerResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	_, err := a.host.system.Answer(ctx, actors.Answer{
		Owner: a.owner(args.Owner), At: args.At(), CallID: args.CallID, Answer: args.CallAnswer(),
	})
	if err != nil {
		return nil, err
	}
	return &api.AnswerResult{Accepted: true}, nil
}
