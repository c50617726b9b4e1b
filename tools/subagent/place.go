package subagent

import (
	"context"

	"agenthost/sessions"
	"agenthost/tools"
)

// Place is where the children of one session live, as the tools of a call reach
// them. Its errors are *sessions.Error: STORE_UNAVAILABLE and SUBAGENT_LOST pass
// to the call as they are, and of the others the code of the child is told. When
// ctx ends, ctx's error is returned. A Place is safe for concurrent use.
type Place interface {
	// Location is what the refs of its children say of where they are.
	Location() sessions.Location
	// Host is the name of another host in refs, "" for the parent's own.
	Host() string
	// Make makes a child, recorded under call, and returns its ref, which is
	// durable before the child is. known is the ref of a child that was recorded
	// before, nil if there is none; what there is already stays.
	Make(ctx context.Context, call sessions.ChildCall, known *sessions.Ref) (sessions.Ref, error)
	// Find returns the turn of a request, and whether the child has one.
	Find(ctx context.Context, child sessions.Ref, request sessions.RequestID) (Work, bool, error)
	// Start prompts a child and returns its turn once that is durable.
	Start(ctx context.Context, child sessions.Ref, request sessions.RequestID, prompt string) (Work, error)
	// Wait waits for the end of a turn.
	Wait(ctx context.Context, child sessions.Ref, work Work) (Work, error)
	// Latest returns the child's last turn, and whether it has had one.
	Latest(ctx context.Context, child sessions.Ref) (Work, bool, error)
	// Cancel cancels the turn of a request.
	Cancel(ctx context.Context, child sessions.Ref, request sessions.RequestID) error
	// Close closes a child.
	Close(ctx context.Context, child sessions.Ref) error
	// Delete removes a child with everything below it, and then its ref.
	Delete(ctx context.Context, child sessions.Ref) error
}

// Work is a turn of a child.
type Work struct {
	Turn   sessions.Turn
	Answer string // the text of the answer, once there is one
}

// Status is what the turn tells of the child.
func (w Work) Status() sessions.RefStatus {
	switch w.Turn.Status {
	case sessions.TurnIsCompleted, sessions.TurnIsCancelled:
		return sessions.RefIdle
	case sessions.TurnIsFailed, sessions.TurnIsInterrupted:
		return sessions.RefFailed
	default:
		return sessions.RefRunning
	}
}

// Home is what the turns of a host offer whose own agents can be sub-agents.
type Home interface {
	tools.Turn
	// Agents is the place of children with a profile of the turn's own host.
	Agents(profile string) Place
	// ChildDepth returns how many levels of agents a child of the turn's session has
	// above it, those on other hosts included: 1 or more. The error is
	// TOOL_INVOKE_FAILED when there would be more than the host allows.
	ChildDepth(ctx context.Context) (int, error)
}

// LabelDepth is the label by which a child on another host knows its ChildDepth,
// so that hosts that ask each other come to an end.
const LabelDepth = "agenthost.depth"

// Here is the place of children on the host that the call comes from; see New.
func Here(call tools.Call, profile string) (Place, error) {
	home, ok := call.Turn.(Home)
	if !ok {
		return nil, &tools.Failure{Message: "This host has no sub-agents of its own."}
	}
	return home.Agents(profile), nil
}
