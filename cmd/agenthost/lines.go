package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// lineReader reads lines of input. The last one may lack its line end.
type lineReader interface {
	ReadString(end byte) (string, error)
}

// newLineReader returns a reader of the user's lines: an editor on a terminal.
func (a *app) newLineReader() (lines lineReader, onTerminal bool) {
	in, isFile := a.stdin.(*os.File)
	if !isFile || !isTerminal(in) || !isTerminal(a.stdout) {
		return bufio.NewReader(a.stdin), false
	}
	keyboard := struct {
		io.Reader
		io.Writer
	}{clearOnInterrupt{in}, a.stdout}
	return &editor{file: in, terminal: term.NewTerminal(keyboard, "> ")}, true
}

// awaitLine reads a line until ctx ends. What is read when ctx ends first is
// left to the end of the process: a read of a terminal cannot be taken back.
func (a *app) awaitLine(ctx context.Context, lines lineReader) (string, error) {
	type got struct {
		line string
		err  error
	}
	read := make(chan got, 1)
	go func() {
		line, err := lines.ReadString('\n')
		if line != "" && errors.Is(err, io.EOF) {
			err = nil
		}
		read <- got{line, err}
	}()
	select {
	case g := <-read:
		return g.line, g.err
	case <-ctx.Done():
		if e, ok := lines.(*editor); ok {
			e.restore()
		}
		return "", context.Cause(ctx)
	}
}

// editor reads lines that can be edited. The terminal is in raw mode only while
// it waits for one, so that Ctrl-C is a signal during a turn.
type editor struct {
	file     *os.File
	terminal *term.Terminal

	mu  sync.Mutex
	was *term.State // how to restore the terminal; nil when there is no need
}

// ReadString reads one line; its argument is not used.
func (e *editor) ReadString(byte) (string, error) {
	if width, height, err := term.GetSize(int(e.file.Fd())); err == nil && width > 0 {
		_ = e.terminal.SetSize(width, height) // it only fails to draw
	}
	was, err := term.MakeRaw(int(e.file.Fd()))
	if err != nil {
		return "", err
	}
	e.mu.Lock()
	e.was = was
	e.mu.Unlock()
	defer e.restore()
	return e.terminal.ReadLine()
}

func (e *editor) restore() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.was != nil {
		_ = term.Restore(int(e.file.Fd()), e.was) // nothing is left to be done about it
		e.was = nil
	}
}

// The keys that matter to clearOnInterrupt.
const (
	keyInterrupt  = 3  // Ctrl-C
	keyToEnd      = 5  // Ctrl-E
	keyClearLine  = 21 // Ctrl-U, from the cursor to the line's begin
	keysPerByteIn = 2
)

// clearOnInterrupt makes Ctrl-C empty the line, where the editor would leave.
type clearOnInterrupt struct{ keys io.Reader }

// Read reads keys.
func (c clearOnInterrupt) Read(into []byte) (int, error) {
	keys := make([]byte, max(1, len(into)/keysPerByteIn))
	n, err := c.keys.Read(keys)
	return copy(into, bytes.ReplaceAll(keys[:n], []byte{keyInterrupt}, []byte{keyToEnd, keyClearLine})), err
}
