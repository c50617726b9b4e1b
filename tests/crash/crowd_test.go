package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"agenthost/host/api"
	"agenthost/sessions"
)

// phase is how far a clear-all was when a prompt was sent, or answered.
type phase int32

const (
	beforeClear phase = iota
	duringClear       // it was sent
	afterClear        // its answer has come
)

// crowdPrompt is one prompt of a crowd, and what its client was told.
type crowdPrompt struct {
	args api.PromptArgs
	sent phase

	answered phase
	turn     sessions.TurnID // of one that was answered with success
	code     sessions.Code
}

// isSettled reports whether the turn was all there when the clear was sent.
func (p *crowdPrompt) isSettled() bool { return p.turn != "" && p.answered == beforeClear }

// isFresh reports whether the turn must have outlived the clear.
func (p *crowdPrompt) isFresh() bool { return p.turn != "" && p.sent == afterClear }

// crowd is the clients of one round, who prompt all the while.
type crowd struct {
	phase atomic.Int32

	mu      sync.Mutex
	prompts []*crowdPrompt
	faults  []string
}

func (c *crowd) now() phase { return phase(c.phase.Load()) }

// talk prompts the session of a key again and again, until the connection is lost.
func (c *crowd) talk(ctx context.Context, w *wire, round, client int) {
	for n := 0; ; n++ {
		p := &crowdPrompt{sent: c.now(), args: api.PromptArgs{Address: byKey(fmt.Sprintf("crowd-%d", client)),
			Text: "plain", RequestID: sessions.RequestID(fmt.Sprintf("r%d-%d-%d", round, client, n))}}
		if n%8 == 3 {
			p.args.Text = "while"
		}
		reply, err := w.send(ctx, api.OpPrompt, p.args, nil)
		if err != nil {
			return
		}
		c.take(p, reply)
	}
}

func (c *crowd) take(p *crowdPrompt, reply api.Reply) {
	p.answered = c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prompts = append(c.prompts, p)
	p.code = codeOf(reply)
	switch {
	case reply.OK:
		var result api.PromptResult
		if err := json.Unmarshal(reply.Result, &result); err != nil {
			c.faults = append(c.faults, err.Error())
		}
		p.turn = result.TurnID
	case p.code == sessions.CodeSessionDeleted && p.sent != afterClear && p.answered != beforeClear:
	default:
		c.faults = append(c.faults, fmt.Sprintf("prompt %s, sent in phase %d, was told: %v", p.args.RequestID, p.sent, reply.Err()))
	}
}

// someoneLost reports whether a caller was told that its session was deleted.
func (c *crowd) someoneLost() bool {
	for _, p := range c.prompts {
		if p.code == sessions.CodeSessionDeleted {
			return true
		}
	}
	return false
}

func (c *crowd) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}
