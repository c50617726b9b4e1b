package sessions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Status is the durable state of a session. Residency is not part of it.
type Status string

// The states of a session. A deleted session has no row and so no status.
const (
	StatusCreated Status = "created" // the row exists, no turn has begun
	StatusRunning Status = "running" // a turn executes
	StatusWaiting Status = "waiting" // the turn needs a client's result or approval
	StatusIdle    Status = "idle"    // the last turn completed or was cancelled
	StatusFailed  Status = "failed"  // the last turn failed or was interrupted; promptable
	StatusClosed  Status = "closed"  // keeps its key, refuses prompts
)

// Statuses lists the states of a session in the order of their life.
func Statuses() []Status {
	return []Status{StatusCreated, StatusRunning, StatusWaiting, StatusIdle, StatusFailed, StatusClosed}
}

// Deleted is where a delete leads: a session without rows.
const Deleted Status = "deleted"

// Trigger is what moves a session from one state to another.
type Trigger string

// The triggers of a session.
const (
	TurnStarted     Trigger = "turn started"
	TurnWaited      Trigger = "turn waited"
	TurnResumed     Trigger = "turn resumed"
	TurnCompleted   Trigger = "turn completed"
	TurnCancelled   Trigger = "turn cancelled"
	TurnFailed      Trigger = "turn failed"
	TurnInterrupted Trigger = "turn interrupted"
	SessionDetached Trigger = "detach"
	SessionClosed   Trigger = "close"
	SessionDeleted  Trigger = "delete"
)

// Triggers lists the triggers of a session.
func Triggers() []Trigger {
	return []Trigger{TurnStarted, TurnWaited, TurnResumed, TurnCompleted, TurnCancelled, TurnFailed,
		TurnInterrupted, SessionDetached, SessionClosed, SessionDeleted}
}

// Transition is one row of the lifecycle table.
type Transition struct {
	From Status
	On   Trigger
	To   Status
}

// lifecycle is the machine. The code that moves sessions, the test that walks
// every state and trigger, and the diagram in docs/lifecycle.md read this table.
var lifecycle = []Transition{
	{StatusCreated, TurnStarted, StatusRunning},
	{StatusIdle, TurnStarted, StatusRunning},
	{StatusFailed, TurnStarted, StatusRunning},
	{StatusRunning, TurnWaited, StatusWaiting},
	{StatusWaiting, TurnResumed, StatusRunning},
	{StatusRunning, TurnCompleted, StatusIdle},
	{StatusRunning, TurnCancelled, StatusIdle},
	{StatusWaiting, TurnCancelled, StatusIdle},
	{StatusRunning, TurnFailed, StatusFailed},
	{StatusWaiting, TurnFailed, StatusFailed},
	{StatusRunning, TurnInterrupted, StatusFailed},
	{StatusWaiting, TurnInterrupted, StatusFailed},
	{StatusRunning, SessionDetached, StatusIdle},
	{StatusWaiting, SessionDetached, StatusIdle},
	{StatusCreated, SessionClosed, StatusClosed},
	{StatusIdle, SessionClosed, StatusClosed},
	{StatusFailed, SessionClosed, StatusClosed},
	{StatusRunning, SessionClosed, StatusClosed},
	{StatusWaiting, SessionClosed, StatusClosed},
	{StatusCreated, SessionDeleted, Deleted},
	{StatusRunning, SessionDeleted, Deleted},
	{StatusWaiting, SessionDeleted, Deleted},
	{StatusIdle, SessionDeleted, Deleted},
	{StatusFailed, SessionDeleted, Deleted},
	{StatusClosed, SessionDeleted, Deleted},
}

// Lifecycle returns the rows of the machine.
func Lifecycle() []Transition { return slices.Clone(lifecycle) }

// ErrInvalidTransition is wrapped by the error of Next.
var ErrInvalidTransition = errors.New("invalid transition")

// Next returns the state that follows from when on happens. A pair that the
// table lacks is ErrInvalidTransition, naming both.
func Next(from Status, on Trigger) (Status, error) {
	for _, t := range lifecycle {
		if t.From == from && t.On == on {
			return t.To, nil
		}
	}
	return from, fmt.Errorf("%w: a session that is %s has no %q", ErrInvalidTransition, from, on)
}

// Diagram draws the table as a Mermaid state diagram, the one in docs/lifecycle.md.
func Diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> created: create, or first prompt of a key\n")
	for _, t := range lifecycle {
		to := string(t.To)
		if t.To == Deleted {
			to = "[*]"
		}
		fmt.Fprintf(&b, "    %s --> %s: %s\n", t.From, to, t.On)
	}
	return b.String()
}
