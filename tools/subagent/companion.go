package subagent

import (
	"context"

	"agenthost/sessions"
)

// shown is a companion as models see it.
type shown struct {
	Name      string             `json:"name"`
	SessionID sessions.SessionID `json:"sessionId"`
	Status    sessions.RefStatus `json:"status"`
}

func show(r sessions.Ref, status sessions.RefStatus) shown {
	return shown{r.Name, r.SessionID, status}
}

// list returns the companions of the tool's profile.
func (e *errand) list(refs []sessions.Ref) []shown {
	companions := []shown{}
	for _, r := range refs {
		if e.isCompanion(r) {
			companions = append(companions, show(r, r.Status))
		}
	}
	return companions
}

// spawn makes sure that there is a companion, lets it begin with the prompt if
// there is one, and does not wait for it.
func (e *errand) spawn(ctx context.Context, known *sessions.Ref) (any, error) {
	if e.args.Prompt == "" {
		child, err := e.make(ctx, known)
		if err != nil {
			return nil, e.told(err)
		}
		return show(child, child.Status), nil
	}
	child, work, err := e.begin(ctx, known)
	if ctx.Err() != nil {
		if cutOff(ctx) && child.SessionID != "" {
			cancel(ctx, e.place, child, requestOf(e.call))
		}
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, e.told(err)
	}
	if work.Turn.Status.Terminal() {
		return show(child, work.Status()), nil
	}
	if err = e.show(child, sessions.RefRunning); err == nil {
		e.call.Turn.Beside(func(ctx context.Context) { e.watch(ctx, child, work) })
	}
	if ctx.Err() != nil { // the turn may have ended before there was a watch to hear of it
		if cutOff(ctx) {
			cancel(ctx, e.place, child, requestOf(e.call))
		}
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return show(child, sessions.RefRunning), nil
}

// watch waits, beside the turn that spawned it, for what a companion does, and
// shows it if that turn still goes on.
func (e *errand) watch(ctx context.Context, child sessions.Ref, work Work) {
	if work, err := Watch(ctx, e.place, child, work); ctx.Err() == nil {
		_ = e.show(child, statusAfter(work, err))
	}
}

// wait waits for the turn that a companion is at, or takes the one it ended last.
// One that others have asked for goes on when the wait is cut off.
func (e *errand) wait(ctx context.Context, child sessions.Ref) (any, error) {
	latest, some, err := e.place.Latest(ctx, child)
	if err == nil && !some {
		return nil, failure("The companion %q was not asked for anything yet; send it a message.", child.Name)
	}
	work := latest
	if err == nil {
		work, err = e.await(ctx, child, latest)
	}
	if ctx.Err() != nil {
		if cutOff(ctx) && !timedOut(ctx) && Asked(latest.Turn.RequestID) {
			cancel(ctx, e.place, child, latest.Turn.RequestID)
		}
		return nil, ctx.Err()
	}
	return e.answer(child, work, err)
}

// terminate closes a companion.
func (e *errand) terminate(ctx context.Context, child sessions.Ref) (any, error) {
	if err := e.place.Close(ctx, child); err != nil {
		return nil, e.told(err)
	}
	if err := e.show(child, sessions.RefClosed); err != nil {
		return nil, err
	}
	return show(child, sessions.RefClosed), nil
}
