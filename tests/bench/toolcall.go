package main

import (
	"context"
	"encoding/json"
	"fmt"

	"agenthost/host"
	"agenthost/sessions"
	"agenthost/tools"
)

// toolCalls measures calls of tools in the host's loop against the same calls
// made directly: of a Go function, and of an MCP server's tool.
func (b *bench) toolCalls(ctx context.Context) error {
	tree := &tools.Tree{}
	if err := tree.Mount(addPath, tools.MustFunc("Adds.", add)); err != nil {
		return err
	}
	function := tooling{what: "call of a Go function", tree: tree, path: addPath, args: `{"a":19,"b":23}`, want: `{"sum":42}`}
	function.direct = func(ctx context.Context) (string, error) { return addDirectly(ctx, function.args) }
	for _, kind := range []storeKind{onDisk, inMemory} {
		if err := b.toolCallRounds(ctx, function, kind, 1); err != nil {
			return err
		}
	}
	if err := b.toolCallRounds(ctx, function, onDisk, 8); err != nil {
		return err
	}
	return b.mcpCalls(ctx, tree)
}

// tooling is one tool, in a tree and by hand.
type tooling struct {
	what       string
	tree       *tools.Tree
	path       string
	args, want string
	direct     func(ctx context.Context) (string, error)
}

const addPath = "/bench/add"

type addends struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

func add(_ context.Context, _ tools.Call, in addends) (sum, error) { return sum{in.A + in.B}, nil }

// addDirectly does what a loop written by hand would: from the model's JSON and
// back to it.
func addDirectly(ctx context.Context, args string) (string, error) {
	var in addends
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return "", err
	}
	out, err := add(ctx, tools.Call{}, in)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(out)
	return string(text), err
}

func (b *bench) toolCallRounds(ctx context.Context, t tooling, kind storeKind, calls int) error {
	var rounds []pairs
	for range b.rounds {
		p, err := b.toolCallLap(ctx, t, kind, calls)
		if err != nil {
			return err
		}
		rounds = append(rounds, p)
	}
	what := t.what
	if calls > 1 {
		what = fmt.Sprintf("step of %d, each a %s", calls, what)
	}
	b.addPairs(what, kind, rounds)
	return nil
}

// toolCallLap times the steps of some turns, and as many steps made directly
// after each.
func (b *bench) toolCallLap(ctx context.Context, t tooling, kind storeKind, calls int) (p pairs, err error) {
	caller := &stepper{function: sessions.FunctionName(t.path), args: t.args, want: t.want, calls: calls}
	h, err := b.openSmall(ctx, kind, host.Profile{Oracle: caller, Tools: []string{t.path}}, t.tree)
	if err != nil {
		return p, err
	}
	defer h.Stop()
	turn := hostTurns(h)
	for n := range b.scaled(100) + 1 {
		if err := createOne(ctx, h, n); err != nil {
			return p, err
		}
		if err := turn(ctx, n, 0); err != nil {
			return p, err
		}
		if n == 0 {
			caller.steps = nil // the first turn warms up
		}
		for range stepsPerTurn {
			took, err := timed(func() error { return t.step(ctx, calls) })
			if err != nil {
				return p, err
			}
			if n > 0 {
				p.floors = append(p.floors, took)
			}
		}
	}
	p.hosts = caller.steps
	return p, nil
}

// step makes the calls of one step directly.
func (t tooling) step(ctx context.Context, calls int) error {
	for range calls {
		out, err := t.direct(ctx)
		if err != nil {
			return err
		}
		if out != t.want {
			return fmt.Errorf("the tool answers %s", out)
		}
	}
	return nil
}
