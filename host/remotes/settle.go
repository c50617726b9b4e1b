package remotes

import (
	"context"
	"time"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/sessions"
)

func at(child sessions.Ref) api.Address { return api.Address{SessionID: child.SessionID} }

// isGone reports whether the code says that the other host has no such session.
func isGone(code sessions.Code) bool {
	return code == sessions.CodeSessionNotFound || code == sessions.CodeSessionDeleted
}

// reach is Remote.reach for something that a child must be there for, or is made
// by.
func (p *place) reach(ctx context.Context, child sessions.Ref, ask func(context.Context, *client.Client) error) error {
	return p.judge(ctx, child, p.remote.reach(ctx, ask))
}

// judge returns err, and records the child as lost when it is: its host is out of
// reach, or does not know it any more.
func (p *place) judge(ctx context.Context, child sessions.Ref, err error) error {
	code := sessions.CodeOf(err)
	if isGone(code) || code == sessions.CodeNotFound {
		err = p.remote.errLost("does not know its session any more").Because(err)
	}
	if sessions.CodeOf(err) == sessions.CodeSubagentLost && ctx.Err() == nil {
		p.settle(ctx, child, sessions.RefLost)
	}
	return err
}

// settleWithin bounds the writing down of what was heard of a child.
const settleWithin = 3 * time.Second

// settle writes down what was heard of a child. The call does not depend on it:
// what a ref says of a remote child is what was heard last, and the next call
// hears it again.
func (p *place) settle(ctx context.Context, child sessions.Ref, status sessions.RefStatus) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	_ = p.call.Turn.Refs().SettleRef(ctx, sessions.SettleRef{
		Parent: p.call.Turn.Life(), Child: child.SessionID, Status: status, Now: sessions.TimeOf(p.remote.config.Now()),
	})
}
