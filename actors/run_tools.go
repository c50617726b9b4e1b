package actors

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"agenthost/sessions"
	"agenthost/tools"
)

// lingering is how long a cancelled call is waited for before the turn is
// considered free of it.
const lingering = 5 * time.Second

// plannedCall is a call with what is to be done about it: run the tool, or
// refuse.
type plannedCall struct {
	call    sessions.ToolCall
	tool    *tools.Mounted
	refusal *sessions.Error      // set when the tool is not to be run
	asks    sessions.PendingKind // what the call waits for first; "" for nothing
}

// result is the call's result if it is known without running the tool.
func (p plannedCall) result() *callResult {
	if p.refusal == nil {
		return nil
	}
	return &callResult{err: p.refusal.Info()}
}

// approve is what becomes of the call once a client has approved it.
func (p *plannedCall) approve() {
	if p.asks == sessions.PendingApproval {
		p.asks = asksApproved(p.tool)
	}
}

// pathOf returns the path that a model called, by a function name or by the path
// itself. A function that no tool has is a slip of the model and no attempt at a
// path: known is false, and the history shows it in the form of a path.
func (d *deps) pathOf(function string, visible []*tools.Mounted) (path string, known bool) {
	for _, m := range visible {
		if m.Function == function {
			return m.Path, true
		}
	}
	if m, ok := d.tree.ByFunction(function); ok {
		return m.Path, true
	}
	path, err := tools.ParsePath(function)
	if err != nil {
		return unknownTool, false
	}
	return path, strings.HasPrefix(function, "/")
}

// unknownTool stands in the history for a function that cannot be a path.
const unknownTool = "/unknown"

// planCall decides whether a call may run. A call that names a path outside the
// allowed subtree is a violation, whether something is mounted there or not.
func (r *run) planCall(c sessions.ToolCall) plannedCall {
	p := plannedCall{call: c}
	m, ok := r.clientTool(c.Path)
	switch {
	case ok: // it is in every scope
	case !r.scope.Allows(c.Path):
		p.refusal = errScope(c.Path)
		return p
	default:
		if m, ok = r.deps.tree.Lookup(c.Path); !ok {
			p.refusal = errTool(c.Path, "No tool is mounted at %s.", c.Path)
			return p
		}
	}
	p.tool = m
	if isMalformed(c.Args) {
		p.refusal = errTool(c.Path, "The arguments are no JSON object of at most %d levels; give one.", maxLevels)
		return p
	}
	if err := m.CheckArgs(c.Args); err != nil {
		p.refusal = errTool(c.Path, "The arguments do not fit the tool's schema: %s", err)
		return p
	}
	p.asks = r.profile.asks(m)
	return p
}

// invokeAll runs the calls of one step side by side and waits until each has a
// result or the turn has ended.
func (r *run) invokeAll(life context.Context, planned []plannedCall) {
	r.mu.Lock()
	r.step.started = true
	r.mu.Unlock()
	places := make(chan struct{}, r.deps.limits.ParallelToolCalls)
	ended := map[string]<-chan struct{}{} // the last call of each tool that runs in order
	var step sync.WaitGroup
	for i, p := range planned {
		if p.refusal != nil || p.asks != "" {
			continue
		}
		select {
		case places <- struct{}{}:
		case <-r.ctx.Done():
		}
		if r.ctx.Err() != nil {
			break
		}
		var before <-chan struct{}
		over := make(chan struct{})
		if p.tool.Spec.InOrder {
			before, ended[p.call.Path] = ended[p.call.Path], over
		}
		step.Add(1)
		r.calls.Add(1)
		go func() {
			defer r.calls.Done()
			done := func() {
				<-places
				close(over)
				step.Done()
			}
			if before != nil {
				<-before // which the end of the turn ends, too
			}
			if r.ctx.Err() != nil {
				done()
				return
			}
			r.invoke(life, i, p, done)
		}()
	}
	step.Wait()
}

// invoke runs one call. done is called once its result is known; the function
// itself returns when the tool has ended, or has been waited for long enough.
func (r *run) invoke(life context.Context, i int, p plannedCall, done func()) {
	ctx, cancel := r.callContext(p.tool)
	defer cancel()
	ctx, watched := r.watchTool(ctx, p)
	began := r.deps.now()
	reply := make(chan toolReply, 1)
	state := &callState{index: i, path: p.call.Path, order: p.tool.Spec.InOrder}
	r.deps.send(r.deps.toolTree, &callTool{ctx: ctx, mounted: p.tool, reply: reply, call: tools.Call{
		Owner: r.ident.owner, SessionID: r.ident.id, TurnID: r.turn.TurnID,
		CallID: p.call.ID, Path: p.call.Path, Args: p.call.Args, Turn: runTurn{r, state},
	}})
	var got toolReply
	ended := false
	select {
	case got = <-reply:
		ended = true
	case <-ctx.Done():
		got.err = errTool(p.call.Path, "The tool at %s gave no result within %d ms.", p.call.Path, r.profile.ToolTimeout.Milliseconds())
	}
	res := r.resultOf(p, got, r.deps.now().Sub(began))
	watched(res)
	r.keep(life, i, res, state)
	done()
	if ended {
		return
	}
	select {
	case <-reply:
	case <-time.After(lingering):
		r.deps.log.Warn("tool ignores the end of its call", r.named("path", p.call.Path)...)
	}
}

// callContext is the context of one call of a tool.
func (r *run) callContext(m *tools.Mounted) (context.Context, context.CancelFunc) {
	if m.Spec.TurnBound {
		return context.WithCancel(r.ctx)
	}
	return context.WithTimeout(r.ctx, r.profile.ToolTimeout)
}

// keep records a result, unless the turn has ended, and makes it durable as a
// frame while other calls of the step still run.
func (r *run) keep(life context.Context, i int, res *callResult, state *callState) {
	r.mu.Lock()
	state.seal(res)
	if r.ended || i >= len(r.step.results) {
		r.mu.Unlock()
		return
	}
	r.step.results[i] = res
	r.mu.Unlock()
	r.keepResult(life)
}

// resultOf turns what a tool gave into a call's result.
func (r *run) resultOf(p plannedCall, got toolReply, took time.Duration) *callResult {
	res := &callResult{took: took}
	limit := r.deps.limits.ToolResultBytes
	told, isTold := errors.AsType[*tools.Failure](got.err)
	switch {
	case got.err == nil && int64(len(got.output)) > limit:
		res.err = errToolTooLarge(len(got.output), limit).Info()
	case got.err == nil:
		output, err := canonical(got.output)
		if err == nil {
			res.output = output
			return res
		}
		res.err = errTool(p.call.Path, "The tool at %s gave an output that %s.", p.call.Path, err).Info()
	case isTold && int64(len(told.Message)) > limit:
		res.err = errToolTooLarge(len(told.Message), limit).Info()
	case isTold:
		res.err = errTool(p.call.Path, "%s", told.Message).Info()
	case r.ctx.Err() != nil: // the turn has ended, and with it the call
		res.err = toolFault(p.call.Path, got.err).Info()
	default:
		res.err = toolFault(p.call.Path, got.err).Info()
		r.deps.log.Warn("tool call failed", r.named("path", p.call.Path, "call", p.call.ID, "error", got.err)...)
	}
	return res
}

// toolFault keeps an error with a code that tools may give as it is, and hides
// the text of any other.
func toolFault(path string, err error) *sessions.Error {
	if e, ok := errors.AsType[*sessions.Error](err); ok && slices.Contains(toolCodes, e.Code) {
		return e
	}
	return errTool(path, "The tool at %s failed.", path)
}

// toolCodes are the codes that a tool may give its call.
var toolCodes = []sessions.Code{sessions.CodeToolInvokeFailed, sessions.CodeStoreUnavailable, sessions.CodeSubagentLost}
