package subagent

import (
	"context"
	"slices"

	"agenthost/sessions"
	"agenthost/tools"
)

// errand is one call under way.
type errand struct {
	place   Place
	call    tools.Call
	profile string
	args    args
}

// run does what the call asks for and returns its output. What the parent knows
// of its children is read first: when it cannot be, nothing is started.
func (e *errand) run(ctx context.Context) (any, error) {
	refs, err := e.call.Turn.Refs().Refs(ctx, e.call.Turn.Life())
	if err != nil {
		return nil, err
	}
	known := e.known(refs)
	switch e.args.Action {
	case list:
		return e.list(refs), nil
	case message, wait, terminate:
		if known == nil {
			return nil, failure("There is no companion called %q; spawn it first.", e.args.Name)
		}
	}
	switch e.args.Action {
	case spawn:
		return e.spawn(ctx, known)
	case wait:
		return e.wait(ctx, *known)
	case terminate:
		return e.terminate(ctx, *known)
	default:
		return e.ask(ctx, known)
	}
}

// known returns the ref of the child that is meant, nil if there is none.
func (e *errand) known(refs []sessions.Ref) *sessions.Ref {
	i := slices.IndexFunc(refs, func(r sessions.Ref) bool {
		if e.args.Name != "" {
			return e.isCompanion(r) && r.Name == e.args.Name
		}
		return r.Name == "" && r.CallID == e.call.CallID && r.TurnID == e.call.TurnID
	})
	if i < 0 {
		return nil
	}
	return &refs[i]
}

func (e *errand) isCompanion(r sessions.Ref) bool {
	return r.Name != "" && r.Host == e.place.Host() && r.ProfileKey == e.profile && r.Location == e.place.Location()
}

// ask prompts the child and waits for its answer.
func (e *errand) ask(ctx context.Context, known *sessions.Ref) (any, error) {
	child, work, err := e.begin(ctx, known)
	if err == nil {
		work, err = e.follow(ctx, child, work)
	}
	if ctx.Err() != nil {
		if cutOff(ctx) && child.SessionID != "" {
			cancel(ctx, e.place, child, requestOf(e.call))
		}
		return nil, ctx.Err()
	}
	return e.answer(child, work, err)
}

// begin returns the child with the turn that the call has asked for: one that it
// asked for when it was run before, or a new one.
func (e *errand) begin(ctx context.Context, known *sessions.Ref) (sessions.Ref, Work, error) {
	request := requestOf(e.call)
	if known != nil {
		work, found, err := e.place.Find(ctx, *known, request)
		if found || err != nil {
			return *known, work, err
		}
	}
	child, err := e.make(ctx, known)
	if err != nil {
		return child, Work{}, err
	}
	work, err := e.place.Start(ctx, child, request, e.args.Prompt)
	return child, work, err
}

// make returns a child that takes prompts. A companion that has ended is deleted
// first, with everything below it; when that fails it stays as it is.
func (e *errand) make(ctx context.Context, known *sessions.Ref) (sessions.Ref, error) {
	if known != nil && known.Name != "" && known.Status.Ended() {
		if e.args.Action == message {
			return *known, failure("The companion %q has ended (%s); spawn it again.", known.Name, known.Status)
		}
		if err := e.place.Delete(ctx, *known); err != nil {
			return *known, err
		}
		known = nil
	}
	return e.place.Make(ctx, sessions.ChildCall{
		Life: e.call.Turn.Life(), TurnID: e.call.TurnID, CallID: e.call.CallID, Name: e.args.Name,
	}, known)
}

// follow shows that a child works, waits for the end of that, and shows it.
func (e *errand) follow(ctx context.Context, child sessions.Ref, work Work) (Work, error) {
	if !work.Turn.Status.Terminal() { // else it had ended before the call was run again
		if err := e.show(child, sessions.RefRunning); err != nil {
			return work, err
		}
	}
	return e.await(ctx, child, work)
}

// await waits for the end of a child's turn, and shows it.
func (e *errand) await(ctx context.Context, child sessions.Ref, work Work) (Work, error) {
	work, err := e.place.Wait(ctx, child, work)
	if ctx.Err() == nil {
		if failed := e.show(child, statusAfter(work, err)); err == nil {
			err = failed
		}
	}
	return work, err
}

func (e *errand) show(child sessions.Ref, status sessions.RefStatus) error {
	return e.call.Turn.ChildChanged(sessions.ChildChanged{
		SessionID: child.SessionID, Location: e.place.Location(), Status: status,
	})
}

// statusAfter is what is known of a child after its turn, or after the failure to
// wait for it.
func statusAfter(work Work, err error) sessions.RefStatus {
	switch sessions.CodeOf(err) {
	case "":
		return work.Status()
	case sessions.CodeSubagentLost:
		return sessions.RefLost
	case sessions.CodeSessionClosed:
		return sessions.RefClosed
	case sessions.CodeSessionDeleted, sessions.CodeSessionNotFound:
		return sessions.RefGone
	default:
		return sessions.RefFailed
	}
}
