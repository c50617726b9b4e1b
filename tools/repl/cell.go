package repl

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
)

const (
	// outputBytes is how much a cell's output may have; what comes then is left out.
	outputBytes = 64 << 10
	// valueBytes is how much JSON a cell's value may have.
	valueBytes = 256 << 10
	// faultBytes is how much of each of an error's texts is shown.
	faultBytes = 4 << 10
)

// cell is what one cell gives while it runs and when it ends. The engine calls it
// from the goroutine that runs it.
type cell struct {
	lines   []string
	bytes   int
	cut     bool
	outcome string // as the prelude tells it; "" if it did not
}

type cellKey struct{}

// in returns a context by which the engine finds the cell.
func (c *cell) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, cellKey{}, c)
}

// cellOf returns the cell that is run with ctx; one that nobody sees when the
// engine begins.
func cellOf(ctx context.Context) *cell {
	if c, ok := ctx.Value(cellKey{}).(*cell); ok {
		return c
	}
	return &cell{}
}

// write takes in a text of output, a line or several. It keeps nothing of text,
// which may be as large as the memory, and copies no more than there is room for.
func (c *cell) write(text []byte) {
	for !c.cut {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		room := outputBytes - c.bytes - 1
		if c.cut = len(line) > room; c.cut {
			line = bytes.ToValidUTF8(line[:max(room, 0)], nil)
		}
		if !c.cut || len(line) > 0 {
			c.bytes += len(line) + 1
			c.lines = append(c.lines, string(line))
		}
		if !more {
			return
		}
		text = rest
	}
}

// Result is the output of a call: what a cell came to.
type Result struct {
	// Value is the value of the cell's last expression, or of the promise that it
	// is. What JSON has not is told in a string; undefined is left out.
	Value json.RawMessage `json:"value,omitempty"`
	// ValueCut says that the value is too large, and Value the beginning of its JSON.
	ValueCut bool `json:"valueCut,omitempty"`
	// Output is what the cell has written by console, line by line.
	Output []string `json:"output,omitempty"`
	// OutputCut says that there was more output.
	OutputCut bool `json:"outputCut,omitempty"`
	// Error says why the cell failed. It has then changed nothing.
	Error *Fault `json:"error,omitempty"`
}

// Fault is why a cell failed.
type Fault struct {
	// Name is that of the error thrown, or one of those below.
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
}

// The faults that no script throws.
const (
	FaultTime   = "TimeLimit"
	FaultMemory = "MemoryLimit"
	FaultState  = "StateLimit"
	FaultEngine = "EngineFault"
)

// result makes what is told of a cell that ran to its end.
func (c *cell) result() Result {
	r := Result{Output: c.lines, OutputCut: c.cut}
	var told struct {
		Value json.RawMessage `json:"value"`
		Error *Fault          `json:"error"`
	}
	if json.Unmarshal([]byte(c.outcome), &told) != nil {
		return r.failed(FaultEngine, "The engine could not say what the cell came to.")
	}
	if r.Error = told.Error; r.Error != nil {
		r.Error.Name, r.Error.Message, r.Error.Stack = shorten(r.Error.Name), shorten(r.Error.Message), shorten(r.Error.Stack)
		return r
	}
	if r.Value = told.Value; len(r.Value) > valueBytes {
		start, _ := json.Marshal(strings.ToValidUTF8(string(r.Value[:valueBytes/2]), "")) // a string always marshals
		r.Value, r.ValueCut = start, true
	}
	return r
}

// failed returns r as that of a cell that failed.
func (r Result) failed(name, message string) Result {
	r.Value, r.ValueCut, r.Error = nil, false, &Fault{Name: name, Message: message}
	return r
}

func shorten(text string) string {
	if len(text) > faultBytes {
		return strings.ToValidUTF8(text[:faultBytes], "") + "…"
	}
	return text
}
