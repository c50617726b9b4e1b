package offline

import (
	"context"
	"iter"
	"strings"

	"agenthost/oracle"
	"agenthost/sessions"
)

// maxDeltas is how many pieces an answer is streamed in at most.
const maxDeltas = 16

// Oracle answers from the conversation. The zero value is ready; it is safe
// for concurrent use.
type Oracle struct{}

// New returns the offline oracle.
func New() Oracle { return Oracle{} }

// Name returns "offline".
func (Oracle) Name() string { return "offline" }

// Infer answers the last user message of r. Its only error is ctx's.
func (Oracle) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		for _, part := range answer(r) {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(part, nil) {
				return
			}
		}
	}
}

// answer returns the parts of the whole answer to r.
func answer(r oracle.Request) []oracle.Part {
	c := conversationOf(r.Messages)
	var parts []oracle.Part
	var words int64
	stop := oracle.StopDone
	calls, problem := c.wishes()
	switch {
	case problem != "":
		parts, words = say(problem)
	case len(calls) > 0 && c.hasCalled():
		parts, words = say(c.report())
	case len(calls) > 0:
		stop = oracle.StopCalls
		for _, call := range calls {
			parts = append(parts, call)
			words += 1 + countWords(call.Args)
		}
	default:
		parts, words = say(c.reply())
	}
	usage := sessions.Usage{InputTokens: inputWords(r), OutputTokens: words, Calls: 1}
	return append(parts, oracle.UsageReport{Usage: usage}, oracle.Stop{Reason: stop})
}

// say cuts text at its words into at most maxDeltas deltas and counts the words.
func say(text string) ([]oracle.Part, int64) {
	pieces := strings.SplitAfter(text, " ")
	size := (len(pieces) + maxDeltas - 1) / maxDeltas
	var parts []oracle.Part
	for from := 0; from < len(pieces); from += size {
		to := min(from+size, len(pieces))
		parts = append(parts, oracle.TextDelta{Text: strings.Join(pieces[from:to], "")})
	}
	return parts, countWords(text)
}

// inputWords counts the words of r as a provider would count its tokens.
func inputWords(r oracle.Request) int64 {
	n := countWords(r.System)
	for _, m := range r.Messages {
		for _, part := range m.Content {
			n += countWords(part.Text) + countWords(string(part.Value))
		}
		for _, call := range m.ToolCalls {
			n += 1 + countWords(string(call.Args))
		}
	}
	return n
}

// countWords counts runs of anything but white space, without copying them.
func countWords(s string) int64 {
	var n int64
	for range strings.FieldsSeq(s) {
		n++
	}
	return n
}
