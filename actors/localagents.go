package actors

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"agenthost/sessions"
	"agenthost/tools/subagent"
)

// localAgents is the place of one session's children of one profile in the same
// host. What they do goes through the root by message, as a client's requests do;
// no actor waits for a child.
type localAgents struct {
	deps    *deps
	owner   sessions.Owner
	parent  sessions.SessionID
	profile string
}

// Location is local.
func (l localAgents) Location() sessions.Location { return sessions.Local }

// Host is none.
func (l localAgents) Host() string { return "" }

// Make makes a session whose parent is the caller's. The store records it in the
// same transaction.
func (l localAgents) Make(ctx context.Context, call sessions.ChildCall, known *sessions.Ref) (sessions.Ref, error) {
	if known != nil {
		return *known, nil
	}
	if _, err := l.deps.childDepth(ctx, l.owner, l.parent); err != nil {
		return sessions.Ref{}, err
	}
	made, err := l.deps.store.CreateSession(ctx, sessions.CreateSession{
		Owner: l.owner, NewID: sessions.SessionID(newID()), Profile: l.profile,
		ParentID: l.parent, ParentLocation: sessions.Local, Call: call, Now: l.deps.nowMs(),
	})
	if err != nil {
		return sessions.Ref{}, err
	}
	s := made.Session
	if made.Created {
		l.deps.feed.Tell(s.Owner, s.CreatedAt, sessions.SessionChanged{Change: sessions.SessionCreated, SessionID: s.ID, Status: s.Status})
	}
	return sessions.Ref{
		SessionID: s.ID, Location: sessions.Local, ProfileKey: s.ProfileKey, Name: call.Name,
		TurnID: call.TurnID, CallID: call.CallID, Status: sessions.RefStatus(s.Status), CreatedAt: s.CreatedAt,
	}, nil
}

// Find looks the turn of a request up in the store, where it is found also when
// the claim of the request has expired.
func (l localAgents) Find(ctx context.Context, child sessions.Ref, request sessions.RequestID) (subagent.Work, bool, error) {
	s, err := l.session(ctx, child)
	if err != nil {
		return subagent.Work{}, false, ignore(err, sessions.CodeSessionNotFound)
	}
	turn, err := l.deps.store.TurnByRequest(ctx, s.Fence.Incarnation, request)
	return subagent.Work{Turn: turn}, err == nil, ignore(err, sessions.CodeNotFound)
}

// Latest looks the newest turn up in the store.
func (l localAgents) Latest(ctx context.Context, child sessions.Ref) (subagent.Work, bool, error) {
	s, err := l.session(ctx, child)
	if err != nil {
		return subagent.Work{}, false, err
	}
	page, err := l.deps.store.Turns(ctx, s.Fence.Incarnation, sessions.TurnQuery{Limit: 1})
	if err != nil || len(page.Turns) == 0 {
		return subagent.Work{}, false, err
	}
	return subagent.Work{Turn: page.Turns[0]}, true, nil
}

func (l localAgents) session(ctx context.Context, child sessions.Ref) (sessions.Session, error) {
	return l.deps.store.Session(ctx, l.owner, sessions.Address{ID: child.SessionID})
}

// ignore returns err unless it has the code.
func ignore(err error, code sessions.Code) error {
	if sessions.CodeOf(err) == code {
		return nil
	}
	return err
}

// Start prompts the child as a client would.
func (l localAgents) Start(ctx context.Context, child sessions.Ref, request sessions.RequestID, prompt string) (subagent.Work, error) {
	if limit := l.deps.limits.MessageBytes; int64(len(prompt)) > limit {
		return subagent.Work{}, sessions.TooLarge("messageBytes", limit,
			"The prompt has %d bytes; a message may have %d.", len(prompt), limit)
	}
	accepted, reply := make(chan PromptAccepted, 1), make(chan PromptReply, 1)
	gone := make(chan struct{})
	defer close(gone) // who waits for the turn's end follows it, and needs no agent for that
	l.deps.send(l.deps.root, &Prompt{
		Owner: l.owner, At: sessions.Address{ID: child.SessionID}, Content: sessions.Text(prompt),
		Request: sessions.Request{
			ID:          request,
			Fingerprint: sha256.Sum256(fmt.Appendf(nil, "subagent %q %q", child.SessionID, prompt)),
		},
		Accepted: accepted, Reply: reply, Gone: gone, Trace: trace.SpanContextFromContext(ctx),
	})
	select {
	case a := <-accepted:
		return subagent.Work{Turn: a.Turn}, nil
	case r := <-reply:
		select {
		case a := <-accepted:
			return subagent.Work{Turn: a.Turn}, nil
		default:
			return subagent.Work{}, asError(r.Err)
		}
	case <-ctx.Done():
		return subagent.Work{}, ctx.Err()
	}
}

// Wait follows the child until its turn has ended. What the store cannot say now
// is asked again.
func (l localAgents) Wait(ctx context.Context, child sessions.Ref, work subagent.Work) (subagent.Work, error) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		ended, err := l.ended(ctx, child, work.Turn.TurnID)
		switch sessions.CodeOf(err) {
		case sessions.CodeStoreUnavailable:
		case "":
			return ended, nil
		case sessions.CodeSessionNotFound, sessions.CodeNotFound: // it was there when its turn was
			return work, errDeleted()
		default:
			return work, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return work, ctx.Err()
		}
	}
}

func (l localAgents) ended(ctx context.Context, child sessions.Ref, id sessions.TurnID) (subagent.Work, error) {
	s, err := l.session(ctx, child)
	if err != nil {
		return subagent.Work{}, err
	}
	turn, _, err := l.deps.awaitTurn(ctx, s, id, false)
	if err != nil {
		return subagent.Work{}, err
	}
	work := subagent.Work{Turn: turn}
	if turn.FinalSeq > 0 {
		page, err := l.deps.store.Messages(ctx, s.Fence.Incarnation, sessions.MessageQuery{AfterSeq: turn.FinalSeq - 1, Limit: 1})
		if err != nil {
			return work, err
		}
		work.Answer = sessions.TextOf(page.Messages[0].Content)
	}
	return work, nil
}

// Cancel cancels the turn of a request. It finds it too when the prompt is still
// on its way, since what comes for a session keeps its order.
func (l localAgents) Cancel(ctx context.Context, child sessions.Ref, request sessions.RequestID) error {
	reply := make(chan CancelReply, 1)
	l.deps.send(l.deps.root, &Cancel{Owner: l.owner, At: sessions.Address{ID: child.SessionID}, RequestID: request, Reply: reply})
	select {
	case r := <-reply:
		return asError(r.Err)
	case <-l.deps.lifetime.Done(): // there is no root any more that would answer
		return errStopping()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the child, cancelling its turn.
func (l localAgents) Close(ctx context.Context, child sessions.Ref) error {
	reply := make(chan SessionReply, 1)
	l.deps.send(l.deps.root, &Close{
		Owner: l.owner, At: sessions.Address{ID: child.SessionID}, Reason: "terminated by its parent", Reply: reply,
	})
	select {
	case r := <-reply:
		return asError(r.Err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Delete deletes the child's tree. Its ref goes in the same transaction.
func (l localAgents) Delete(ctx context.Context, child sessions.Ref) error {
	reply := make(chan DeleteReply, 1)
	l.deps.send(l.deps.root, &Delete{Owner: l.owner, At: sessions.Address{ID: child.SessionID}, Reply: reply})
	select {
	case r := <-reply:
		return asError(r.Err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// asError is an error that is nil when there is none, as a typed nil is not.
func asError(err *sessions.Error) error {
	if err == nil {
		return nil
	}
	return err
}
