package actors

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/asynkron/protoactor-go/actor"

	"agenthost/tools"
)

// Messages to and from a mounted actor, for tools that are actors themselves.
type (
	// InvokeTool asks an actor mounted with System.MountPID for one call. The
	// actor responds with a *ToolResult of the same CallID, when it likes.
	InvokeTool struct{ Call tools.Call }
	// ToolResult is the answer to InvokeTool: Output, or a Failure whose text
	// the model is shown.
	ToolResult struct {
		CallID  string
		Output  json.RawMessage
		Failure string
	}
	// CancelTool says that nobody waits for the result of a call any more.
	CancelTool struct{ CallID string }
)

// callTool asks the tool tree for one call. The reply comes when the tool has
// ended, also after ctx.
type callTool struct {
	ctx     context.Context
	mounted *tools.Mounted
	call    tools.Call
	reply   chan<- toolReply // capacity 1
}

type toolReply struct {
	output json.RawMessage
	err    error
}

// unmounted tells the tool tree that a mount is gone.
type unmounted struct{ mounted *tools.Mounted }

// retire tells a tool actor that its mount is gone.
type retire struct{}

// toolTree is the parent of the tool actors.
//
// Owns: one tool actor per mount, spawned at its first call. Parent: none.
// Children: tool actors, which recover their tools' panics; one that fails all
// the same is stopped and spawned anew at the next call.
type toolTree struct {
	deps   *deps
	actors map[*tools.Mounted]*PID
	mounts map[string]*tools.Mounted // by PID id
	names  uint64
}

func toolTreeProps(d *deps) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &toolTree{deps: d, actors: map[*tools.Mounted]*PID{}, mounts: map[string]*tools.Mounted{}}
	}, actor.WithSupervisor(stopOnPanic))
}

// Receive handles one message.
func (t *toolTree) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *callTool:
		ctx.Send(t.actorOf(ctx, msg.mounted), msg)
		if now, _ := t.deps.tree.Lookup(msg.mounted.Path); now != msg.mounted {
			t.retire(ctx, msg.mounted) // the call was on its way when it was unmounted
		}
	case *unmounted:
		t.retire(ctx, msg.mounted)
	case *actor.Terminated:
		t.forget(msg.Who)
	}
}

func (t *toolTree) actorOf(ctx actor.Context, m *tools.Mounted) *PID {
	if pid := t.actors[m]; pid != nil {
		return pid
	}
	t.names++
	pid, err := ctx.SpawnNamed(toolProps(t.deps, m), strconv.FormatUint(t.names, 10))
	if err != nil { // the name is new, so this is a fault of the tree itself
		panic(err)
	}
	t.actors[m], t.mounts[pid.Id] = pid, m
	return pid
}

// retire lets the actor of a mount that is gone end its calls and stop.
func (t *toolTree) retire(ctx actor.Context, m *tools.Mounted) {
	if pid := t.actors[m]; pid != nil {
		ctx.Send(pid, &retire{})
		t.forget(pid)
	}
}

func (t *toolTree) forget(pid *PID) {
	if m := t.mounts[pid.Id]; m != nil {
		delete(t.mounts, pid.Id)
		delete(t.actors, m)
	}
}
