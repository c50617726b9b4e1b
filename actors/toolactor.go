package actors

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"agenthost/sessions"
	"agenthost/tools"
)

// toolActor runs the calls of one mount.
//
// Owns: the calls under way. Parent: the tool tree. Children: none; each call
// of a Go tool has a goroutine, each call of a mounted actor is a message to
// it. A panic of a tool, or the death of a mounted actor, fails the calls
// concerned with TOOL_INVOKE_FAILED. A stopping tool actor fails what is left.
type toolActor struct {
	deps    *deps
	mounted *tools.Mounted
	remote  *pidTool // nil for a Go tool
	dead    bool     // the mounted actor is gone
	retired bool     // the mount is gone: stop after the calls under way
	waiting map[sessions.CallID]*callTool
}

func toolProps(d *deps, m *tools.Mounted) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		remote, _ := m.Tool.(*pidTool)
		return &toolActor{deps: d, mounted: m, remote: remote, waiting: map[sessions.CallID]*callTool{}}
	})
}

// Receive handles one message.
func (t *toolActor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		if t.remote != nil {
			ctx.Watch(t.remote.pid)
		}
	case *callTool:
		t.handleCall(ctx, msg)
	case *ToolResult:
		t.handleResult(msg)
	case *callOver:
		t.handleOver(ctx, msg)
	case *actor.Terminated:
		t.dead = true
		t.failAll()
	case *retire:
		t.retired = true
	case *actor.Stopping:
		t.failAll()
	}
	if t.retired && len(t.waiting) == 0 {
		ctx.Stop(ctx.Self())
	}
}

func (t *toolActor) handleCall(ctx actor.Context, c *callTool) {
	switch {
	case t.remote == nil:
		go t.run(c)
	case t.dead:
		answer(c.reply, toolReply{err: t.gone()})
	default:
		t.waiting[c.call.CallID] = c
		ctx.Request(t.remote.pid, &InvokeTool{c.call})
		self, d := ctx.Self(), t.deps
		context.AfterFunc(c.ctx, func() { d.send(self, &callOver{c}) })
	}
}

// run calls a Go tool. A panic of it, or of the error that it returns, is an
// error of the call, and so is the end of its goroutine.
func (t *toolActor) run(c *callTool) {
	reply := toolReply{err: errTool(t.mounted.Path, "The tool at %s broke down.", t.mounted.Path)}
	defer func() {
		if fault := recover(); fault != nil {
			t.deps.logPanic("tool panicked", fault, "session", c.call.SessionID, "turn", c.call.TurnID, "path", t.mounted.Path, "call", c.call.CallID)
		}
		answer(c.reply, reply)
	}()
	output, err := t.mounted.Tool.Invoke(c.ctx, c.call)
	reply = toolReply{output: output, err: understood(err)}
}

// understood returns what matters of a tool's error. It calls the methods of the
// error, so that nobody has to later: they are the tool's code, and errors may be
// nil pointers.
func understood(err error) error {
	if err == nil {
		return nil
	}
	if told, ok := errors.AsType[*tools.Failure](err); ok {
		return &tools.Failure{Message: told.Message}
	}
	if e, ok := errors.AsType[*sessions.Error](err); ok && slices.Contains(toolCodes, e.Code) {
		if _, unfit := json.Marshal(e.Details); unfit == nil {
			return e
		}
	}
	return errors.New(err.Error())
}

func (t *toolActor) handleResult(msg *ToolResult) {
	id := sessions.CallID(msg.CallID)
	c := t.waiting[id]
	if c == nil {
		return // cancelled, or answered twice
	}
	delete(t.waiting, id)
	reply := toolReply{output: msg.Output}
	if msg.Failure != "" {
		reply = toolReply{err: &tools.Failure{Message: msg.Failure}}
	}
	answer(c.reply, reply)
}

// callOver: nobody waits for a call to a mounted actor any more.
type callOver struct{ call *callTool }

func (t *toolActor) handleOver(ctx actor.Context, msg *callOver) {
	id := msg.call.call.CallID
	if t.waiting[id] != msg.call {
		return
	}
	delete(t.waiting, id)
	ctx.Send(t.remote.pid, &CancelTool{string(id)})
	answer(msg.call.reply, toolReply{err: msg.call.ctx.Err()})
}

func (t *toolActor) failAll() {
	for id, c := range t.waiting {
		delete(t.waiting, id)
		answer(c.reply, toolReply{err: t.gone()})
	}
}

func (t *toolActor) gone() *sessions.Error {
	return errTool(t.mounted.Path, "The actor mounted at %s is gone.", t.mounted.Path)
}
