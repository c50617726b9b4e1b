package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/host/api"
	"agenthost/sessions"
)

// IsSessionBusy reports whether err says that a session, or one below it, has
// work under way: the AGENT_BUSY of what needs an idle session, or the CONFLICT
// of a delete that is to leave busy ones alone.
func IsSessionBusy(err error) bool {
	e, ok := errors.AsType[*sessions.Error](err)
	if !ok {
		return false
	}
	return e.Code == sessions.CodeAgentBusy ||
		e.Code == sessions.CodeConflict && e.Details["reason"] == sessions.ReasonBusy
}

// Step is a step of CancelAndDelete.
type Step string

// The steps, in their order.
const (
	StepCancel Step = "cancel" // the turn is told to end
	StepWait   Step = "wait"   // its end is awaited
	StepDelete Step = "delete" // the session is at rest and goes
)

// StepError says at which step CancelAndDelete has failed. Before StepDelete
// nothing was deleted. An error of the delete says by itself what may have become
// of it; the whole may be repeated.
type StepError struct {
	Step Step
	Err  error
}

// Error names the step and says what went wrong.
func (e *StepError) Error() string {
	return fmt.Sprintf("the session was not deleted, at the step %q: %v", string(e.Step), e.Err)
}

// Unwrap returns what went wrong.
func (e *StepError) Unwrap() error { return e.Err }

// DefaultRest is how long CancelAndDelete waits when it is not told.
const DefaultRest = 10 * time.Second

// CancelAndDelete cancels the session's turn, waits for its end and deletes the
// session with all below it, so that the turn's callers hear CANCELLED and not
// SESSION_DELETED. It sends one cancel and one delete. A session that is idle or
// unknown is no error.
//
// wait bounds the time until the session has no turn, the cancel included; 0
// means DefaultRest. When it runs out, IsSessionBusy is true of the error. What
// begins between the end of the wait and the delete goes with the session. ctx
// ends any step. Every error is a *StepError.
func (c *Client) CancelAndDelete(ctx context.Context, at api.Address, wait time.Duration) (*api.SessionDeleteResult, error) {
	if wait == 0 {
		wait = DefaultRest
	}
	waiting, enough := context.WithTimeoutCause(ctx, wait, sessions.Errorf(sessions.CodeAgentBusy,
		"The turn did not end within %s; wait longer, or delete the session with its turn.", wait))
	defer enough()
	_, err := c.Cancel(waiting, api.CancelArgs{Address: at})
	if err != nil && !isGone(err) {
		return nil, &StepError{StepCancel, err}
	}
	if err == nil {
		if err := c.awaitRest(waiting, at); err != nil {
			return nil, &StepError{StepWait, err}
		}
	}
	done, err := c.SessionDelete(ctx, api.SessionDeleteArgs{Address: at})
	if err != nil {
		return nil, &StepError{StepDelete, err}
	}
	return done, nil
}

// awaitRest waits until the session has no turn, or is gone.
func (c *Client) awaitRest(ctx context.Context, at api.Address) error {
	for {
		got, err := c.SessionGet(ctx, api.SessionGetArgs{Address: at})
		if err == nil && got.Session.ActiveTurn != nil {
			_, err = c.Turn(ctx, api.TurnArgs{Address: at, TurnID: got.Session.ActiveTurn.TurnID, Wait: api.WaitDone})
		} else if err == nil {
			return nil
		}
		switch {
		case isGone(err):
			return nil
		case err != nil:
			return err
		}
	}
}

// isGone reports whether err says that there is no such session, or no such turn
// any more.
func isGone(err error) bool {
	switch sessions.CodeOf(err) {
	case sessions.CodeSessionNotFound, sessions.CodeSessionDeleted, sessions.CodeNotFound:
		return true
	}
	return false
}
