package repl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"

	"agenthost/sessions"
	"agenthost/tools"
)

// Path is where the tool is mounted.
const Path = "/repl"

// StateName is the name of the session's state that the cells share.
const StateName = "repl"

// Config sets the bounds of cells. Zero values are defaults.
type Config struct {
	// Timeout is how long a cell may run. Default 5 s.
	Timeout time.Duration
	// MemoryBytes is how much memory a cell may have, what is kept from cells
	// before included; at least 4 MiB, in units of 64 KiB. Default 64 MiB.
	MemoryBytes int64
	// Cells is how many cells run at a time, of all sessions; others wait. Default
	// the number of processors.
	Cells int
}

const (
	defaultTimeout = 5 * time.Second
	defaultMemory  = 64 << 20
	minMemory      = 4 << 20
	maxMemory      = 2 << 30
)

type args struct {
	Code  string `json:"code" jsonschema:"the JavaScript to run"`
	Fresh bool   `json:"fresh,omitempty" jsonschema:"begin anew: forget what earlier cells have made"`
}

const about = "Runs JavaScript and returns the value of the last expression, what was written with console.log, " +
	"and the error if it failed. Variables, functions and classes are kept for the next call, also after a restart; " +
	"a call that fails changes nothing. Top-level await works. There are no files, no network, no modules and no timers."

type repl struct {
	timeout time.Duration
	memory  int64
	engine  *engine
	places  chan struct{}
}

// New returns the tool. It compiles the engine when it is called first. It is
// INVALID_REQUEST when the configuration asks for what cannot be.
func New(c Config) (tools.Tool, error) {
	c.Timeout, c.MemoryBytes = cmp.Or(c.Timeout, defaultTimeout), cmp.Or(c.MemoryBytes, defaultMemory)
	c.Cells = cmp.Or(c.Cells, runtime.GOMAXPROCS(0))
	switch {
	case c.Timeout < 0 || c.Cells < 0:
		return nil, sessions.Errorf(sessions.CodeInvalidRequest, "The time of a cell and the number of cells cannot be negative.")
	case c.MemoryBytes < minMemory || c.MemoryBytes > maxMemory:
		return nil, sessions.Errorf(sessions.CodeInvalidRequest,
			"A cell may have from %d to %d bytes of memory, not %d.", minMemory, int64(maxMemory), c.MemoryBytes)
	}
	r := &repl{
		timeout: c.Timeout, memory: c.MemoryBytes,
		engine: &engine{pages: uint32(c.MemoryBytes / pageBytes)}, places: make(chan struct{}, c.Cells),
	}
	return tools.Func(about, r.call, tools.Repeatable(), tools.InOrder())
}

// Mount mounts the tool at Path.
func Mount(t *tools.Tree, c Config) error {
	tool, err := New(c)
	if err != nil {
		return err
	}
	return t.Mount(Path, tool)
}

func (r *repl) call(ctx context.Context, call tools.Call, in args) (Result, error) {
	if call.Turn == nil {
		return Result{}, &tools.Failure{Message: "A cell needs a session, whose state it works on."}
	}
	if err := r.engine.prepare(); err != nil {
		return Result{}, err
	}
	from, err := r.before(ctx, call.Turn, in.Fresh)
	if err != nil {
		return Result{}, err
	}
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
	return r.run(ctx, call.Turn, from, in.Code)
}

// before returns the memory that a cell begins with, nil for a fresh one.
func (r *repl) before(ctx context.Context, turn tools.Turn, fresh bool) (*image, error) {
	if fresh {
		return nil, nil
	}
	state, found, err := turn.State(ctx, StateName)
	if err != nil || !found {
		return nil, err
	}
	from, err := unpack(state.Value)
	switch {
	case err != nil:
		return nil, unusable("is none of this tool")
	case from.Engine != r.engine.name:
		return nil, unusable("was made by another version of the engine")
	case int64(from.Pages)*pageBytes > r.memory:
		return nil, unusable(fmt.Sprintf("needs more memory than the %d bytes that a cell may have", r.memory))
	}
	return &from, nil
}

func unusable(why string) error {
	return &tools.Failure{Message: fmt.Sprintf(
		"The session's state %q %s; give \"fresh\": true to begin anew, which replaces it.", StateName, why)}
}

// run runs a cell on a memory of its own, which becomes the state if it finished.
func (r *repl) run(ctx context.Context, turn tools.Turn, from *image, code string) (Result, error) {
	var c cell
	limited, cancel := context.WithTimeout(c.in(ctx), r.timeout)
	defer cancel()
	m, err := r.engine.open(limited, from)
	switch {
	case errors.Is(err, errDamaged):
		return Result{}, unusable("is damaged")
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		return r.late(Result{}), nil
	case err != nil:
		return Result{}, errors.Join(context.Cause(ctx), err)
	}
	defer func() { _ = m.Close(context.WithoutCancel(ctx)) }()
	how, err := run(limited, m, []byte(code))
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	result := c.result()
	switch {
	case err != nil && limited.Err() != nil:
		return r.late(result), nil
	case errors.Is(err, errNoRoom), err == nil && how == hungry:
		return result.failed(FaultMemory, fmt.Sprintf("The cell needed more than the limit of %d bytes of memory.", r.memory)), nil
	case err != nil:
		return result.failed(FaultEngine, "The engine broke down; the cell may have gone too deep."), nil
	case result.Error != nil:
		return result, nil
	}
	return r.save(turn, m, result)
}

// late is what is told of a cell that ran out of time.
func (r *repl) late(so Result) Result {
	return so.failed(FaultTime, fmt.Sprintf("The cell ran longer than the limit of %d ms.", r.timeout.Milliseconds()))
}

// save makes the memory the state of the step that the cell belongs to.
func (r *repl) save(turn tools.Turn, m api.Module, result Result) (Result, error) {
	state, err := pack(r.engine.name, restingMemory(m), r.engine.fresh)
	if err != nil {
		return Result{}, err
	}
	err = turn.SetState(StateName, state)
	if tooLarge, ok := errors.AsType[*sessions.Error](err); ok && tooLarge.Code == sessions.CodePayloadTooLarge {
		return result.failed(FaultState, tooLarge.Message+" The cell has changed nothing; keep less in variables."), nil
	}
	return result, err
}
