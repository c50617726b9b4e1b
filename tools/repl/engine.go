package repl

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

//go:embed engine/quickjs.wasm
var program []byte

//go:embed prelude.js
var prelude []byte

const (
	// stackBytes is where the stack is: at the bottom of the memory, as build.sh
	// has it.
	stackBytes = 1 << 20
	// deepest is how far down cells may use it, so that what goes too deep throws
	// before the stack is full.
	deepest = stackBytes / 4
)

// compiled keeps the engine's code for all tools of the process.
var compiled = wazero.NewCompilationCache()

// engine makes memories that run cells. It is safe for concurrent use.
type engine struct {
	pages uint32 // that a memory may have

	mu      sync.Mutex
	runtime wazero.Runtime // nil until it is needed
	code    wazero.CompiledModule
	fresh   []byte // the memory of an engine that has run nothing
	name    string
}

// prepare compiles the engine, which takes a second or so, the first time.
func (e *engine) prepare() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runtime != nil {
		return nil
	}
	// What is made here outlives the call that needs it first.
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCompilationCache(compiled).WithCloseOnContextDone(true).WithMemoryLimitPages(e.pages))
	if err := e.compile(ctx, runtime); err != nil {
		return errors.Join(err, runtime.Close(ctx))
	}
	e.runtime = runtime
	return nil
}

func (e *engine) compile(ctx context.Context, runtime wazero.Runtime) (err error) {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return err
	}
	door := runtime.NewHostModuleBuilder("host")
	door.NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module, at, bytes uint32) {
		text, _ := m.Memory().Read(at, bytes)
		cellOf(ctx).write(text)
	}).Export("print")
	door.NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module, at, bytes uint32) {
		outcome, _ := m.Memory().Read(at, bytes)
		cellOf(ctx).outcome = string(outcome)
	}).Export("outcome")
	if _, err := door.Instantiate(ctx); err != nil {
		return err
	}
	if e.code, err = runtime.CompileModule(ctx, program); err != nil {
		return err
	}
	return e.begin(ctx, runtime)
}

// begin makes the memory that all others begin as. It is the same bytes in every
// process: the engine finds no clock and no chance meanwhile.
func (e *engine) begin(ctx context.Context, runtime wazero.Runtime) error {
	m, err := runtime.InstantiateModule(ctx, e.code, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return err
	}
	defer func() { _ = m.Close(ctx) }()
	at, err := put(ctx, m, prelude)
	if err != nil {
		return err
	}
	failed, err := m.ExportedFunction("start").Call(ctx, at, uint64(len(prelude)), deepest)
	if err != nil || failed[0] != 0 {
		return fmt.Errorf("the engine does not start: %v, %w", failed, err)
	}
	e.fresh = append([]byte(nil), restingMemory(m)...)
	sum := sha256.Sum256(e.fresh)
	e.name = "quickjs-" + hex.EncodeToString(sum[:8])
	return nil
}

// open returns a module whose memory is as the image says; nil is a fresh one.
func (e *engine) open(ctx context.Context, from *image) (api.Module, error) {
	m, err := e.runtime.InstantiateModule(ctx, e.code, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").
		WithSysWalltime().WithSysNanotime().WithRandSource(rand.Reader))
	if err != nil {
		return nil, err
	}
	if err := e.fill(m, from); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	return m, nil
}

func (e *engine) fill(m api.Module, from *image) error {
	pages := uint32(len(e.fresh) / pageBytes)
	if from != nil {
		pages = max(pages, from.Pages)
	}
	memory := m.Memory()
	if have := memory.Size() / pageBytes; have < pages {
		if _, ok := memory.Grow(pages - have); !ok {
			return errDamaged
		}
	}
	memory.Write(0, e.fresh)
	if from == nil {
		return nil
	}
	all, _ := memory.Read(0, memory.Size())
	return from.into(all)
}

// restingMemory is the memory of a module that runs nothing. What calls have
// left on the stack means nothing then, and is wiped.
func restingMemory(m api.Module) []byte {
	all, _ := m.Memory().Read(0, m.Memory().Size())
	clear(all[:stackBytes])
	return all
}

// put hands a text to the engine, which frees it.
func put(ctx context.Context, m api.Module, text []byte) (at uint64, err error) {
	got, err := m.ExportedFunction("alloc").Call(ctx, uint64(len(text)))
	if err != nil {
		return 0, err
	}
	if got[0] == 0 || !m.Memory().Write(uint32(got[0]), text) {
		return 0, errNoRoom
	}
	return got[0], nil
}

// errNoRoom tells of a text for which the memory has no room.
var errNoRoom = errors.New("the memory is full")

// hungry is how a cell ended that had too little memory, as shim.c has it.
const hungry = 4

// run runs one cell in a module and returns how it ended, as shim.c has it.
func run(ctx context.Context, m api.Module, code []byte) (how uint64, err error) {
	at, err := put(ctx, m, code)
	if err != nil {
		return 0, err
	}
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	got, err := m.ExportedFunction("run").Call(ctx, at, uint64(len(code)), binary.NativeEndian.Uint64(seed[:]))
	if err != nil {
		return 0, err
	}
	return got[0], nil
}
