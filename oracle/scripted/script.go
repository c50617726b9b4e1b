package scripted

import (
	"regexp"
	"strings"
	"time"

	"agenthost/oracle"
	"agenthost/sessions"
)

// Script is what an Oracle plays. The first of Rules that matches the last
// user message answers; calls that none matches are answered by Steps.
type Script struct {
	Rules []Rule
	Steps []Step
}

// Rule is a script for one kind of turn. It matches when the text of the last
// user message contains When and matches Regexp; each matches everything when
// left out. Steps[n] is the answer once the history has n whole assistant
// messages after that user message: the n-th model call of the turn.
type Rule struct {
	When   string
	Regexp *regexp.Regexp
	Steps  []Step
}

// matches reports whether the rule is for a turn that began with text.
func (r Rule) matches(text string) bool {
	return strings.Contains(text, r.When) && (r.Regexp == nil || r.Regexp.MatchString(text))
}

// Step is one answer of the model. Its fields are played in the order in which
// they stand here; those left out are skipped. The zero Step is an empty answer.
type Step struct {
	// Delay passes before anything else.
	Delay time.Duration
	// Gate holds the step up until it is closed or gives a value.
	Gate <-chan struct{}
	// Text is sent as one delta.
	Text   string
	Deltas []Delta
	Calls  []Call
	// Fail ends the answer with LLM_API_FAILURE whose cause is this text.
	Fail string
	// Overflow ends the answer as a model does whose context window does not take
	// the request.
	Overflow bool
	// Hang keeps the answer open until the call's context ends.
	Hang bool
	// Usage is reported; Calls in it is 1 unless set.
	Usage *sessions.Usage
	// Stop is why the answer ends: by default StopCalls if there are Calls, else StopDone.
	Stop oracle.StopReason
	// Repeat plays the step for all later calls too; steps after it are never played.
	Repeat bool
}

// Delta is a piece of text that comes after a pause.
type Delta struct {
	After time.Duration
	Text  string
}

// Call is a wish to run a tool, given on as it stands: Path may be a path or a
// function name, and Args any text; empty Args are "{}". An empty ID is
// replaced by one unique in the session.
type Call struct {
	ID   sessions.CallID
	Path string
	Args string
}

// stepAt returns the step for call n of steps, from 0.
func stepAt(steps []Step, n int) (Step, bool) {
	for i, s := range steps {
		if i == n || s.Repeat {
			return s, true
		}
	}
	return Step{}, false
}
