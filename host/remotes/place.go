package remotes

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/sessions"
	"agenthost/tools"
	"agenthost/tools/subagent"
)

// Labels that a child has on its own host, so that people there can tell where it
// comes from. One more, subagent.LabelDepth, says how deep it is.
const (
	LabelParent = "agenthost.parent"
	LabelCall   = "agenthost.call"
)

// place is where the children of one call's session live on another host.
type place struct {
	remote  *Remote
	call    tools.Call
	home    subagent.Home
	profile string
}

// Location is remote.
func (p *place) Location() sessions.Location { return sessions.Remote }

// Host is the remote's name.
func (p *place) Host() string { return p.remote.name }

// Make records a child, then makes it. One that was recorded before and may not
// have been made is asked for again under the same id.
func (p *place) Make(ctx context.Context, call sessions.ChildCall, known *sessions.Ref) (sessions.Ref, error) {
	if known != nil && known.Status != sessions.RefCreated {
		return *known, nil
	}
	depth, err := p.home.ChildDepth(ctx)
	if err != nil {
		return sessions.Ref{}, err
	}
	if known == nil {
		stored, err := p.call.Turn.Refs().AddRefs(ctx, call.Life, []sessions.Ref{{
			SessionID: sessions.SessionID(uuid.Must(uuid.NewV7()).String()), Location: sessions.Remote,
			ProfileKey: p.profile, Name: call.Name, TurnID: call.TurnID, CallID: call.CallID,
			Status: sessions.RefCreated, Host: p.remote.name, CreatedAt: sessions.TimeOf(p.remote.config.Now()),
		}})
		if err != nil {
			return sessions.Ref{}, err
		}
		known = &stored[0]
	}
	err = p.reach(ctx, *known, func(ctx context.Context, c *client.Client) error {
		_, err := c.SessionCreate(ctx, api.SessionCreateArgs{
			Address: api.Address{SessionID: known.SessionID, ProfileKey: p.profile},
			Labels: map[string]string{
				LabelParent: string(p.call.SessionID), LabelCall: string(call.CallID), subagent.LabelDepth: strconv.Itoa(depth),
			},
		})
		return err
	})
	return *known, err
}

// Find asks for the turn of a request.
func (p *place) Find(ctx context.Context, child sessions.Ref, request sessions.RequestID) (subagent.Work, bool, error) {
	work, err := p.turn(ctx, api.TurnArgs{Address: at(child), RequestID: request})
	switch code := sessions.CodeOf(err); {
	case code == sessions.CodeNotFound:
		return subagent.Work{}, false, nil
	case isGone(code) && (child.Status == sessions.RefCreated || child.Status.Ended()):
		return subagent.Work{}, false, nil
	default:
		return work, err == nil, p.judge(ctx, child, err)
	}
}

// Latest asks for the newest turn.
func (p *place) Latest(ctx context.Context, child sessions.Ref) (subagent.Work, bool, error) {
	var list *api.TurnsResult
	err := p.reach(ctx, child, func(ctx context.Context, c *client.Client) (err error) {
		list, err = c.Turns(ctx, api.TurnsArgs{Address: at(child), Limit: new(1)})
		return err
	})
	if err != nil || len(list.Turns) == 0 {
		return subagent.Work{}, false, err
	}
	return subagent.Work{Turn: list.Turns[0]}, true, nil
}

// Start prompts the child.
func (p *place) Start(ctx context.Context, child sessions.Ref, request sessions.RequestID, prompt string) (subagent.Work, error) {
	var accepted *api.PromptResult
	err := p.reach(ctx, child, func(ctx context.Context, c *client.Client) (err error) {
		accepted, err = c.Prompt(ctx, api.PromptArgs{Address: at(child), Text: prompt, RequestID: request, Wait: api.WaitAccepted}, nil)
		return err
	})
	if err != nil {
		return subagent.Work{}, err
	}
	p.settle(ctx, child, sessions.RefRunning)
	return subagent.Work{Turn: sessions.Turn{
		TurnID: accepted.TurnID, RequestID: request, Status: sessions.TurnIsRunning,
	}}, nil
}

// waitFor bounds one wait for the end of a turn, so that a connection that died
// without a word is noticed.
const waitFor = 20 * time.Second

// Wait asks how the turn stands, and waits, in turns.
func (p *place) Wait(ctx context.Context, child sessions.Ref, work subagent.Work) (subagent.Work, error) {
	args := api.TurnArgs{Address: at(child), TurnID: work.Turn.TurnID}
	for {
		now, err := p.turn(ctx, args)
		if err = p.judge(ctx, child, err); err != nil {
			return work, err
		}
		if now.Turn.Status.Terminal() {
			p.settle(ctx, child, now.Status())
			return now, nil
		}
		if p.remote.waitForEnd(ctx, args) != nil {
			// Whatever it was, the next look tells; it only must not come at once.
			select {
			case <-time.After(firstPause):
			case <-ctx.Done():
				return work, ctx.Err()
			}
		}
	}
}

// waitForEnd returns when a turn has ended, or after some time.
func (r *Remote) waitForEnd(ctx context.Context, args api.TurnArgs) error {
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	c, err := r.dial(ctx)
	if err != nil {
		return err
	}
	args.Wait = api.WaitDone
	_, err = c.Turn(ctx, args)
	return err
}

// turn asks for one turn as it is now.
func (p *place) turn(ctx context.Context, args api.TurnArgs) (subagent.Work, error) {
	var result *api.TurnResult
	err := p.remote.reach(ctx, func(ctx context.Context, c *client.Client) (err error) {
		result, err = c.Turn(ctx, args)
		return err
	})
	if err != nil {
		return subagent.Work{}, err
	}
	work := subagent.Work{Turn: result.Turn.Turn}
	if result.Turn.Message != nil {
		work.Answer = sessions.TextOf(result.Turn.Message.Content)
	}
	return work, nil
}

// Cancel sends one cancel, and no other.
func (p *place) Cancel(ctx context.Context, child sessions.Ref, request sessions.RequestID) error {
	c, err := p.remote.dial(ctx)
	if err != nil {
		return err
	}
	if _, err = c.Cancel(ctx, api.CancelArgs{Address: at(child), RequestID: request}); err == nil {
		p.settle(ctx, child, sessions.RefIdle)
	}
	return err
}

// Close closes the child. One that is gone is as good as closed.
func (p *place) Close(ctx context.Context, child sessions.Ref) error {
	err := p.remote.reach(ctx, func(ctx context.Context, c *client.Client) error {
		_, err := c.SessionClose(ctx, api.SessionCloseArgs{Address: at(child), Reason: "terminated by its parent"})
		return err
	})
	if err != nil && !isGone(sessions.CodeOf(err)) {
		return p.judge(ctx, child, err)
	}
	p.settle(ctx, child, sessions.RefClosed)
	return nil
}

// Delete removes the child from its host, and then its ref.
func (p *place) Delete(ctx context.Context, child sessions.Ref) error {
	err := p.remote.reach(ctx, func(ctx context.Context, c *client.Client) error {
		_, err := c.SessionDelete(ctx, api.SessionDeleteArgs{Address: at(child)})
		return err
	})
	if err != nil {
		return err
	}
	return p.call.Turn.Refs().RemoveRef(ctx, p.call.Turn.Life(), child.SessionID)
}
