package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// kind is a kind of prompt: its first word, which the script answers to.
type kind struct {
	word   string
	weight int
	answer string        // of a turn that completes
	code   sessions.Code // of a turn that does not
}

// kinds are what the campaign asks for. Their scripts are in script: each makes
// a kill hit another place.
var kinds = []kind{
	{word: "plain", weight: 40, answer: "It is so."},
	{word: "tools", weight: 30, answer: "Both have answered."},
	{word: "chain", weight: 14, answer: "At last."},
	{word: "long", weight: 6, answer: strings.Repeat("word ", 28)},
	{word: "fail", weight: 10, code: sessions.CodeLLMAPIFailure},
}

// script is the model of the campaign, in the form of the command's scripts.
func script() string {
	var long strings.Builder
	const part = `{after: 25ms, text: "word "}, `
	for range 28 {
		long.WriteString(part)
	}
	return `rules:
  - when: plain
    steps: [{deltas: [{after: 2ms, text: "It "}, {after: 3ms, text: "is "}, {after: 2ms, text: "so."}], usage: {input: 9, output: 3}}]
  - when: tools
    steps:
      - deltas: [{after: 3ms, text: "Let me "}, {after: 5ms, text: "see."}]
        calls: [{path: /builtin/time}, {path: /builtin/echo, args: {text: "echo"}}, {path: /builtin/echo, args: {text: "again"}}]
      - {deltas: [{after: 4ms, text: "Both "}, {after: 4ms, text: "have "}, {text: "answered."}]}
  - when: chain
    steps:
      - {delay: 3ms, calls: [{path: /builtin/echo, args: {text: "one"}}]}
      - {delay: 3ms, calls: [{path: /builtin/echo, args: {text: "two"}}]}
      - {delay: 3ms, text: "Nearly.", calls: [{path: /builtin/time}]}
      - {delay: 3ms, text: "At last."}
  - when: long
    steps: [{deltas: [` + long.String() + `]}]
  - when: while
    steps: [{deltas: [` + long.String()[:8*len(part)] + `]}]
  - when: fail
    steps: [{deltas: [{after: 3ms, text: "I can"}], fail: "overloaded"}]
`
}

// writeScript writes a script and a configuration with it, and returns the
// arguments of serve.
func writeScript(t *testing.T, folder, text string, settings ...string) []string {
	t.Helper()
	require.NoError(t, os.WriteFile(within(folder, "script.yaml"), []byte(text), 0o644))
	config := "oracles:\n  play: {provider: scripted, file: script.yaml}\nprofiles:\n  default: {oracle: play}\n"
	require.NoError(t, os.WriteFile(within(folder, "agenthost.yaml"), []byte(config+strings.Join(settings, "\n")+"\n"), 0o644))
	return []string{"--config", "agenthost.yaml", "--db", "a.db"}
}

// request is one prompt, and all that its client was told about it.
type request struct {
	id   sessions.RequestID
	at   api.Address
	text string
	kind kind

	mu        sync.Mutex
	turn      sessions.TurnID              // as first told
	terminals map[int64]sessions.FrameType // the terminal frames seen, by seq
	sent      int
	done      bool
	faults    []string
}

// ledger is what the clients know. Its methods are safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	requests []*request
}

func (l *ledger) add(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, r)
}

func (l *ledger) all() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// told returns the requests of which a client was told that they are accepted.
func (l *ledger) told() map[sessions.RequestID]sessions.TurnID {
	told := map[sessions.RequestID]sessions.TurnID{}
	for _, r := range l.all() {
		r.mu.Lock()
		if r.turn != "" {
			told[r.id] = r.turn
		}
		r.mu.Unlock()
	}
	return told
}

// unfinished returns the requests without a final answer.
func (l *ledger) unfinished() []*request {
	return slices.DeleteFunc(l.all(), (*request).isDone)
}

// faults lists what the clients saw and must not have seen.
func (l *ledger) faults() []string {
	var all []string
	for _, r := range l.all() {
		r.mu.Lock()
		all = append(all, r.faults...)
		r.mu.Unlock()
	}
	return all
}

func (r *request) isDone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

func (r *request) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf("request %s: ", r.id)+fmt.Sprintf(format, args...))
}

// isTurn records which turn the request has. It must never be another: the one
// before would be lost, or run twice.
func (r *request) isTurn(id sessions.TurnID) {
	if r.turn == "" {
		r.turn = id
	} else if r.turn != id {
		r.fault("was turn %s and is turn %s", r.turn, id)
	}
}

// complete sends the request until it has a final answer, over every connection
// that is lost and every restart. streams asks for frames.
func (r *request) complete(ctx context.Context, w *wire, streams bool) {
	for ctx.Err() == nil {
		if r.try(ctx, w, streams) {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// try sends the request once and reports whether the answer was final.
func (r *request) try(ctx context.Context, w *wire, streams bool) bool {
	here := &attachment{request: r, last: map[sessions.TurnID]int64{}}
	onFrame := here.see
	if !streams {
		onFrame = nil
	}
	r.sent++
	reply, err := w.send(ctx, api.OpPrompt, api.PromptArgs{Address: r.at, Text: r.text, RequestID: r.id}, onFrame)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		return false
	case reply.Error != nil && reply.Error.Retryable:
		return false
	}
	r.done = true
	r.settle(reply)
	if streams && len(r.terminals) != 1 {
		r.fault("its streams showed %d terminal frames: %v", len(r.terminals), r.terminals)
	}
	return true
}

// settle checks a final answer. r.mu is held.
func (r *request) settle(reply api.Reply) {
	if code := codeOf(reply); code != r.kind.code {
		r.fault("ended with %q instead of %q: %v", code, r.kind.code, reply.Err())
		return
	}
	if reply.Error != nil {
		id, _ := reply.Error.Details["turnId"].(string)
		r.isTurn(sessions.TurnID(id))
		return
	}
	var result api.PromptResult
	if err := json.Unmarshal(reply.Result, &result); err != nil || result.Message == nil {
		r.fault("has no answer: %s", reply.Result)
		return
	}
	r.isTurn(result.TurnID)
	if text := sessions.TextOf(result.Message.Content); text != r.kind.answer {
		r.fault("was answered %q", text)
	}
}

// attachment is one connection on which a request's frames came.
type attachment struct {
	request *request
	last    map[sessions.TurnID]int64
}

// see takes in a numbered frame.
func (a *attachment) see(f sessions.Frame) {
	r := a.request
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.RequestID != r.id {
		r.fault("was sent a frame of request %q", f.RequestID)
		return
	}
	r.isTurn(f.TurnID)
	if last := a.last[f.TurnID]; last != 0 && f.Seq != last+1 {
		r.fault("was sent frame %d after frame %d", f.Seq, last)
	}
	a.last[f.TurnID] = f.Seq
	if f.Type().Terminal() {
		if r.terminals == nil {
			r.terminals = map[int64]sessions.FrameType{}
		}
		r.terminals[f.Seq] = f.Type()
	}
}

// worker is one client of the campaign: its choices follow from its seed.
type worker struct {
	number int
	rand   *rand.Rand
	wire   *wire
	ledger *ledger
	groups func() int // sessions take turns being used, so that none grows for ever
	made   int
}

// watchedSessions are used all the time, and followed by subscriptions.
const watchedSessions = 4

// run makes one request after another until stop is closed; one that was begun
// is brought to its end, unless ctx ends.
func (c *worker) run(ctx context.Context, stop <-chan struct{}) {
	for ctx.Err() == nil {
		select {
		case <-stop:
			return
		default:
		}
		c.next().complete(ctx, c.wire, c.made%3 != 0)
	}
}

func (c *worker) next() *request {
	c.made++
	r := &request{id: sessions.RequestID(fmt.Sprintf("c%d-%d", c.number, c.made)), kind: c.pick()}
	r.text = r.kind.word + " " + string(r.id) + "."
	if n := c.rand.IntN(64); n < watchedSessions {
		r.at = api.Address{SessionID: watched(n)}
	} else {
		r.at = byKey(fmt.Sprintf("s%d-%d", c.groups(), n))
	}
	c.ledger.add(r)
	return r
}

func (c *worker) pick() kind {
	at := c.rand.IntN(100)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k
		}
	}
	return kinds[0]
}

func watched(n int) sessions.SessionID { return sessions.SessionID(fmt.Sprintf("watched-%d", n)) }
