package subagent

import (
	"context"
	"errors"
	"time"

	"agenthost/sessions"
	"agenthost/tools"
)

// cancelWithin bounds the cancellation of a child's turn. It is less than a call
// is waited for after its end.
const cancelWithin = 4 * time.Second

// cutOff reports whether the end of ctx reaches down to children. It does unless
// the host stops: then they too go on at the next start, and the call finds them.
func cutOff(ctx context.Context) bool {
	why, coded := errors.AsType[*sessions.Error](context.Cause(ctx))
	return coded && why.Code != sessions.CodeHostStopping
}

// timedOut reports whether the turn of ctx took too long.
func timedOut(ctx context.Context) bool {
	return sessions.CodeOf(context.Cause(ctx)) == sessions.CodeAgentTimeout
}

// Watch waits for the end of a child's turn beside the turns of its parent. When
// ctx ends first, the child's turn is cancelled, unless the host stops.
func Watch(ctx context.Context, place Place, child sessions.Ref, work Work) (Work, error) {
	ended, err := place.Wait(ctx, child, work)
	if ctx.Err() != nil && cutOff(ctx) {
		cancel(ctx, place, child, work.Turn.RequestID)
	}
	return ended, err
}

// cancel cancels a child's turn for someone who is gone. Nobody is left to hear of
// a failure, and the turn has its own time limit.
func cancel(ctx context.Context, place Place, child sessions.Ref, request sessions.RequestID) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer done()
	_ = place.Cancel(ctx, child, request)
}

// answer is the output of a call for the turn that a child has ended.
func (e *errand) answer(child sessions.Ref, work Work, err error) (any, error) {
	if err != nil {
		return nil, e.told(err)
	}
	switch work.Turn.Status {
	case sessions.TurnIsCompleted:
		return work.Answer, nil
	case sessions.TurnIsCancelled:
		return nil, e.failed(sessions.Errorf(sessions.CodeCancelled, "The turn was cancelled.")).With("sessionId", child.SessionID)
	default:
		why := work.Turn.Error.Err()
		if why == nil {
			why = sessions.Errorf(sessions.CodeInternal, "Its turn ended without an answer.")
		}
		return nil, e.failed(why).With("sessionId", child.SessionID)
	}
}

// told is an error of a place as the call gets it.
func (e *errand) told(err error) error {
	if _, isTold := errors.AsType[*tools.Failure](err); isTold {
		return err
	}
	switch sessions.CodeOf(err) {
	case sessions.CodeStoreUnavailable, sessions.CodeSubagentLost, sessions.CodeToolInvokeFailed:
		return err
	default:
		return e.failed(sessions.AsError(err))
	}
}

// maxReason is the longest text of another host that is repeated, in bytes.
const maxReason = 1000

// failed is TOOL_INVOKE_FAILED for what went wrong with a child. What another host
// says is taken as far as it is as it should be.
func (e *errand) failed(why *sessions.Error) *sessions.Error {
	code, reason := why.Code.Info().Code, why.Message
	if len(reason) > maxReason {
		reason = "The reason is too long to repeat."
	}
	f := sessions.Errorf(sessions.CodeToolInvokeFailed, "The sub-agent gave no answer: %s (%s)", reason, code)
	switch code {
	case sessions.CodeAgentBusy:
		f.Message = "The companion is at work (AGENT_BUSY); wait for it first."
	case sessions.CodeSessionDeleted, sessions.CodeSessionNotFound:
		f.Message = "The sub-agent's session was deleted (" + string(code) + ") before it gave an answer."
	}
	return f.With("path", e.call.Path).With("childCode", code).Because(why)
}
