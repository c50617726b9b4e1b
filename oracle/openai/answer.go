package openai

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"agenthost/oracle"
	"agenthost/sessions"
)

// answer is put together from the chunks of one stream.
type answer struct {
	yield   func(oracle.Part, error) bool
	started bool // a part was given out
	left    bool // the listener broke off

	used  map[sessions.CallID]bool // call ids of the history and of this answer
	fresh int                      // number of the answer's message, for call ids of our own

	calls        []*partialCall
	callBytes    int // what the calls take
	usage        *sessions.Usage
	refused      bool
	finishReason string
}

// partialCall is a tool call whose arguments are still coming in.
type partialCall struct {
	index    int64
	id, name string
	args     strings.Builder
}

// add takes in one chunk. Only the first choice counts; no other was asked for.
func (a *answer) add(chunk sdk.ChatCompletionChunk) {
	if chunk.JSON.Usage.Valid() {
		u := chunk.Usage
		a.usage = &sessions.Usage{
			InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens,
			CachedTokens: u.PromptTokensDetails.CachedTokens, Calls: 1,
		}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.say(choice.Delta.Content)
		a.refused = a.refused || choice.Delta.Refusal != ""
		a.say(choice.Delta.Refusal)
		for _, delta := range choice.Delta.ToolCalls {
			a.call(delta)
		}
		a.finishReason = cmp.Or(choice.FinishReason, a.finishReason)
	}
}

func (a *answer) say(text string) {
	if text != "" {
		a.give(oracle.TextDelta{Text: text})
	}
}

func (a *answer) give(part oracle.Part) {
	if !a.left {
		a.started = true
		a.left = !a.yield(part, nil)
	}
}

const (
	// maxCallBytes is what the calls of one answer may take. They are given out
	// only when they are whole, so nobody else can bound them.
	maxCallBytes = 16 << 20
	// callOverhead is what a call takes beside its name and its arguments.
	callOverhead = 1 << 10
)

// call adds a delta to the call it belongs to. Some servers give every call
// the same index, or none; there another id, or another name, begins a call.
func (a *answer) call(delta sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	var c *partialCall
	for _, known := range a.calls {
		if known.index == delta.Index {
			c = known
		}
	}
	named := delta.Function.Name != ""
	if c == nil || named && (!delta.JSON.Index.Valid() || delta.ID != "" && c.id != "" && delta.ID != c.id) {
		c = &partialCall{index: delta.Index}
		a.calls = append(a.calls, c)
		a.callBytes += callOverhead
	}
	c.id = cmp.Or(c.id, delta.ID)
	if delta.Function.Name != c.name {
		c.name += delta.Function.Name
	}
	c.args.WriteString(delta.Function.Arguments)
	a.callBytes += len(delta.Function.Name) + len(delta.Function.Arguments)
}

// isEmpty reports whether the answer has neither text nor calls, nor a reason
// for that.
func (a *answer) isEmpty() bool {
	reason := a.reason()
	return !a.started && len(a.calls) == 0 && reason != oracle.StopRefusal && reason != oracle.StopLength
}

func (a *answer) reason() oracle.StopReason {
	switch {
	case a.refused || a.finishReason == "content_filter":
		return oracle.StopRefusal
	case a.finishReason == "length":
		return oracle.StopLength
	case len(a.calls) > 0:
		return oracle.StopCalls
	default:
		return oracle.StopDone
	}
}

// finish gives out what is known only at the end.
func (a *answer) finish() {
	slices.SortStableFunc(a.calls, func(c, d *partialCall) int { return cmp.Compare(c.index, d.index) })
	for i, c := range a.calls {
		a.give(oracle.ToolCall{ID: a.ownID(c.id, i), Function: c.name, Args: c.args.String()})
	}
	if a.usage != nil {
		a.give(oracle.UsageReport{Usage: *a.usage})
	}
	a.give(oracle.Stop{Reason: a.reason()})
}

// ownID returns id if call i can have it: neither this answer nor the history
// has used it. Else it makes one.
func (a *answer) ownID(given string, i int) sessions.CallID {
	id := sessions.CallID(given)
	for n := i + 1; id == "" || a.used[id]; n++ {
		id = sessions.CallID(fmt.Sprintf("call-%d-%d", a.fresh, n))
	}
	a.used[id] = true
	return id
}
