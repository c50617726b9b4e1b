package actors

import (
	"time"

	"agenthost/sessions"
)

// guarded is an Observer whose panics are logged. It is called in the midst of
// turns and their ends, which must not depend on who counts them.
type guarded struct {
	deps *deps
	to   Observer
}

func (g guarded) tell(what func(Observer)) {
	defer func() {
		if fault := recover(); fault != nil {
			g.deps.logPanic("observer panicked", fault)
		}
	}()
	what(g.to)
}

func (g guarded) Prompted(outcome PromptOutcome) {
	g.tell(func(o Observer) { o.Prompted(outcome) })
}

func (g guarded) TurnBegan(takenUp bool) {
	g.tell(func(o Observer) { o.TurnBegan(takenUp) })
}

func (g guarded) TurnEnded(status sessions.TurnStatus, code sessions.Code, took time.Duration) {
	g.tell(func(o Observer) { o.TurnEnded(status, code, took) })
}

func (g guarded) ModelCalled(oracle string, outcome CallOutcome, consumed sessions.Usage, took time.Duration) {
	g.tell(func(o Observer) { o.ModelCalled(oracle, outcome, consumed, took) })
}

func (g guarded) SideAsked(oracle string, outcome CallOutcome, consumed sessions.Usage, took time.Duration) {
	g.tell(func(o Observer) { o.SideAsked(oracle, outcome, consumed, took) })
}

func (g guarded) ToolCalled(path string, outcome CallOutcome, took time.Duration) {
	g.tell(func(o Observer) { o.ToolCalled(path, outcome, took) })
}

func (g guarded) Deleted(all bool, removed sessions.Receipt) {
	g.tell(func(o Observer) { o.Deleted(all, removed) })
}
