package provider

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agenthost/oracle"
	"agenthost/sessions"
)

// Yield takes one part of an answer, or the error that ends it, and reports
// whether more is wanted.
type Yield = func(oracle.Part, error) bool

// Answer is put together from one stream.
type Answer struct {
	// Usage is what the provider reported, nil for nothing.
	Usage *sessions.Usage
	// Refused says that the model, or a filter, would not answer; Cut that a
	// limit ended the answer. Without them calls, or their lack, say why it ended.
	Refused, Cut bool
	// Full says that the model's context window ended the answer. One that has no
	// text by then is none.
	Full bool

	yield   Yield
	started bool // a part was given out
	left    bool // the listener broke off

	used  map[sessions.CallID]bool // call ids of the history and of this answer
	fresh int                      // number of the answer's message, for call ids of our own

	calls     []*Call
	callBytes int // what the calls take
}

// Call is a tool call whose arguments are still coming in.
type Call struct {
	ID   string // the provider's, "" for none
	Name string

	answer *Answer
	index  int64
	args   strings.Builder
}

const (
	// maxCallBytes is what the calls of one answer may take. They are given out
	// only when they are whole, so nobody else can bound them.
	maxCallBytes = 16 << 20
	// callOverhead is what a call takes beside its name and its arguments.
	callOverhead = 1 << 10
)

// Say gives out text, if there is any.
func (a *Answer) Say(text string) {
	if text != "" {
		a.give(oracle.TextDelta{Text: text})
	}
}

// Left reports whether the listener has broken off: nothing more is wanted.
func (a *Answer) Left() bool { return a.left }

// Call returns the last call that began at index, nil if none did.
func (a *Answer) Call(index int64) *Call {
	for _, c := range slices.Backward(a.calls) {
		if c.index == index {
			return c
		}
	}
	return nil
}

// NewCall begins a call at index. Calls are given out in the order of their
// indices, and of their beginnings within one.
func (a *Answer) NewCall(index int64) *Call {
	c := &Call{answer: a, index: index}
	a.calls = append(a.calls, c)
	a.callBytes += callOverhead
	return c
}

// Add appends pieces of the call's name and of its arguments.
func (c *Call) Add(name, args string) {
	c.Name += name
	c.args.WriteString(args)
	c.answer.callBytes += len(name) + len(args)
}

// Err returns an error once the calls take more than an answer may have. No
// other try would be better.
func (a *Answer) Err() error {
	if a.callBytes > maxCallBytes {
		return errTooLarge
	}
	return nil
}

func (a *Answer) give(part oracle.Part) {
	if !a.left {
		a.started = true
		a.left = !a.yield(part, nil)
	}
}

// lack returns why a whole answer is none, nil if it is one.
func (a *Answer) lack() error {
	switch {
	case a.Full && !a.started:
		return Overflow(errFull)
	case a.isEmpty():
		return errEmpty
	default:
		return nil
	}
}

// isEmpty reports whether the answer has neither text nor calls, nor a reason
// for that.
func (a *Answer) isEmpty() bool {
	return !a.started && len(a.calls) == 0 && !a.Refused && !a.Cut
}

func (a *Answer) reason() oracle.StopReason {
	switch {
	case a.Refused:
		return oracle.StopRefusal
	case a.Cut:
		return oracle.StopLength
	case len(a.calls) > 0:
		return oracle.StopCalls
	default:
		return oracle.StopDone
	}
}

// finish gives out what is known only at the end.
func (a *Answer) finish() {
	slices.SortStableFunc(a.calls, func(c, d *Call) int { return cmp.Compare(c.index, d.index) })
	for i, c := range a.calls {
		a.give(oracle.ToolCall{ID: a.ownID(c.ID, i), Function: c.Name, Args: c.args.String()})
	}
	if a.Usage != nil {
		a.give(oracle.UsageReport{Usage: *a.Usage})
	}
	a.give(oracle.Stop{Reason: a.reason()})
}

// ownID returns given if call i can have it: neither this answer nor the
// history has used it. Else it makes an id.
func (a *Answer) ownID(given string, i int) sessions.CallID {
	id := sessions.CallID(given)
	for n := i + 1; id == "" || a.used[id]; n++ {
		id = sessions.CallID(fmt.Sprintf("call-%d-%d", a.fresh, n))
	}
	a.used[id] = true
	return id
}

// callIDs returns the ids of all tool calls of history.
func callIDs(history []sessions.Message) map[sessions.CallID]bool {
	used := map[sessions.CallID]bool{}
	for _, m := range history {
		for _, c := range m.ToolCalls {
			used[c.ID] = true
		}
	}
	return used
}
