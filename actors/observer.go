package actors

import (
	"time"

	"agenthost/sessions"
)

// Observer hears what a System does, so that it can be counted. Its methods are
// called from many goroutines at once, also from actors: they must not block. A
// panic of one is logged. They get no content, and no id or key. The names they get
// are those of the configuration and of mounted tools.
type Observer interface {
	// Prompted hears of each prompt once, as soon as it is known what becomes of it.
	Prompted(outcome PromptOutcome)
	// TurnBegan hears of a turn that begins, or that is taken up after a restart, or
	// when somebody comes for it while it waits for clients out of memory.
	TurnBegan(takenUp bool)
	// TurnEnded hears of the end of each turn that began. status is "" for one that
	// is not ended but dropped: its session is deleted, the host stops, or it waits for
	// clients and leaves memory. code is "" when nothing went wrong.
	TurnEnded(status sessions.TurnStatus, code sessions.Code, took time.Duration)
	// ModelCalled hears of each call of an oracle by a turn.
	ModelCalled(oracle string, outcome CallOutcome, consumed sessions.Usage, took time.Duration)
	// SideAsked hears of each model call of a side question.
	SideAsked(oracle string, outcome CallOutcome, consumed sessions.Usage, took time.Duration)
	// ToolCalled hears of each call that a mounted tool was asked for.
	ToolCalled(path string, outcome CallOutcome, took time.Duration)
	// Deleted hears of a delete, or of a clear-all, once the store is done with it.
	Deleted(all bool, removed sessions.Receipt)
}

// PromptOutcome says what became of a prompt.
type PromptOutcome string

// The outcomes of prompts.
const (
	PromptIsAccepted   PromptOutcome = "accepted"   // its turn begins
	PromptIsDuplicate  PromptOutcome = "duplicate"  // it repeats a request
	PromptIsBusy       PromptOutcome = "busy"       // its session has a turn
	PromptIsOverloaded PromptOutcome = "overloaded" // the host is at a limit
	PromptIsRefused    PromptOutcome = "refused"    // for any other reason
)

// CallOutcome says how the call of a model or of a tool ended.
type CallOutcome string

// The outcomes of calls.
const (
	CallSucceeded CallOutcome = "ok"
	CallFailed    CallOutcome = "failed"
	CallIsCut     CallOutcome = "cut" // the turn ended first, or the side question
)

// Unobserved is an Observer that takes no notice of anything. One that wants to
// hear of a part only has it embedded.
type Unobserved struct{}

// Prompted does nothing.
func (Unobserved) Prompted(PromptOutcome) {}

// TurnBegan does nothing.
func (Unobserved) TurnBegan(bool) {}

// TurnEnded does nothing.
func (Unobserved) TurnEnded(sessions.TurnStatus, sessions.Code, time.Duration) {}

// ModelCalled does nothing.
func (Unobserved) ModelCalled(string, CallOutcome, sessions.Usage, time.Duration) {}

// SideAsked does nothing.
func (Unobserved) SideAsked(string, CallOutcome, sessions.Usage, time.Duration) {}

// ToolCalled does nothing.
func (Unobserved) ToolCalled(string, CallOutcome, time.Duration) {}

// Deleted does nothing.
func (Unobserved) Deleted(bool, sessions.Receipt) {}

// refusedAs is the outcome of a prompt that is answered with an error.
func refusedAs(err *sessions.Error) PromptOutcome {
	switch err.Code {
	case sessions.CodeAgentBusy:
		return PromptIsBusy
	case sessions.CodeOverloaded:
		return PromptIsOverloaded
	default:
		return PromptIsRefused
	}
}

// tell says what became of the prompt, unless that was said before.
func (p *Prompt) tell(outcome PromptOutcome) {
	if p.observer != nil && !p.told.Swap(true) {
		p.observer.Prompted(outcome)
	}
}
