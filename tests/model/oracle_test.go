package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"agenthost/oracle"
	"agenthost/sessions"
	"agenthost/tools"
)

// patience is how long a fact may take before the test fails.
const patience = 30 * time.Second

// player plays the script, as the oracle and as its tools. One plays for all
// hosts of a history.
type player struct {
	ill atomic.Bool // the provider fails brittle prompts

	mu       sync.Mutex
	open     map[string]chan struct{} // the gates, by prompt
	arrivals map[string]int           // how often something came to a closed gate
	changed  chan struct{}            // closed at the next arrival
}

func newPlayer() *player {
	return &player{open: map[string]chan struct{}{}, arrivals: map[string]int{}, changed: make(chan struct{})}
}

// Name returns the oracle's name.
func (*player) Name() string { return "player" }

// Infer plays the move that is due.
func (p *player) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		prompt, n := position(r.Messages)
		m := script(prompt, n, p.ill.Load())
		if m.before != "" && !yield(oracle.TextDelta{Text: m.before}, nil) {
			return
		}
		if m.hold {
			if err := p.pass(ctx, prompt); err != nil {
				yield(nil, err)
				return
			}
		}
		if m.fail {
			yield(nil, sessions.Errorf(sessions.CodeLLMAPIFailure, "The model call failed.").Because(errors.New("as scripted")))
			return
		}
		if !yield(oracle.TextDelta{Text: m.text}, nil) {
			return
		}
		args, _ := json.Marshal(map[string]string{"gate": prompt}) // of strings: cannot fail
		for i, path := range m.calls {
			if !yield(oracle.ToolCall{ID: sessions.CallID(fmt.Sprint("c", i)), Function: path, Args: string(args)}, nil) {
				return
			}
		}
		yield(oracle.Stop{Reason: oracle.StopDone}, nil)
	}
}

// gate returns the gate of a prompt. p.mu is held.
func (p *player) gate(prompt string) chan struct{} {
	if p.open[prompt] == nil {
		p.open[prompt] = make(chan struct{})
	}
	return p.open[prompt]
}

// pass waits until the prompt's gate is open.
func (p *player) pass(ctx context.Context, prompt string) error {
	p.mu.Lock()
	gate := p.gate(prompt)
	select {
	case <-gate:
	default:
		p.arrivals[prompt]++
		close(p.changed)
		p.changed = make(chan struct{})
	}
	p.mu.Unlock()
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release opens the prompt's gate for good.
func (p *player) release(prompt string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.gate(prompt))
}

// await returns when something has come to the prompt's gate for the n-th time.
func (p *player) await(t rapid.TB, prompt string, n int) {
	late := time.After(patience)
	for {
		p.mu.Lock()
		have, changed := p.arrivals[prompt], p.changed
		p.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%q has come to its gate %d times, not %d", prompt, have, n)
		}
	}
}

type gated struct {
	Gate string `json:"gate"`
}

// tree holds the tools of the script.
func (p *player) tree(t rapid.TB) *tools.Tree {
	note := func(context.Context, tools.Call, gated) (string, error) { return "noted", nil }
	broken := func(context.Context, tools.Call, gated) (string, error) { return "", &tools.Failure{Message: "broken"} }
	held := func(ctx context.Context, _ tools.Call, in gated) (string, error) {
		return "worked", p.pass(ctx, in.Gate)
	}
	tree := &tools.Tree{}
	for path, tool := range map[string]tools.Tool{
		notePath:   tools.MustFunc("Takes a note.", note, tools.Repeatable()),
		brokenPath: tools.MustFunc("Fails.", broken, tools.Repeatable()),
		workPath:   tools.MustFunc("Works.", held),
		safePath:   tools.MustFunc("Works, and may do so twice.", held, tools.Repeatable()),
		strayPath:  tools.MustFunc("Is not for this profile.", note),
	} {
		if err := tree.Mount(path, tool); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}
