package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
)

const (
	// maxMessage is the longest message that is read from a server, in bytes.
	maxMessage = 16 << 20
	// maxLogged is how many bytes of a line of a server reach the log.
	maxLogged = 1000
)

// messages reads a program's standard output and passes on the lines that are
// messages. Programs print other things too, against the rules, such as what a
// library of theirs greets with; a session need not break by that.
type messages struct {
	file   *os.File
	lines  *bufio.Reader
	rest   []byte // of the message being passed on
	log    *slog.Logger
	warned bool
}

func newMessages(f *os.File, log *slog.Logger) *messages {
	return &messages{file: f, lines: bufio.NewReaderSize(f, 64<<10), log: log}
}

// Read passes on a part of a message.
func (m *messages) Read(b []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if err != nil {
			return 0, err
		}
		if isMessage(line) {
			m.rest = line
		} else {
			m.skip(line)
		}
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// Close ends Read.
func (m *messages) Close() error { return m.file.Close() }

func (m *messages) line() ([]byte, error) {
	var line []byte
	for {
		part, err := m.lines.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxMessage {
			return nil, errors.New("it sent a message that is too long")
		}
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

func (m *messages) skip(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if !m.warned {
		m.warned = true
		m.log.Warn("the MCP server prints what is no message to its standard output; that is left out")
	}
	m.log.Debug("left out", "line", shorten(line))
}

// isMessage reports whether a line is one JSON-RPC message, or several in an
// array.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) > 0 && line[0] == '[' {
		return json.Valid(line)
	}
	var head struct {
		Version string `json:"jsonrpc"`
	}
	return json.Unmarshal(line, &head) == nil && head.Version != ""
}

// logLines logs what a program prints to its standard error, a line at a time.
func logLines(r io.Reader, log *slog.Logger) {
	lines := bufio.NewReaderSize(r, 4<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if text := shorten(line); text != "" {
			log.Debug("the MCP server says", "line", text)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func shorten(line []byte) string {
	return strings.ToValidUTF8(string(bytes.TrimSpace(line[:min(len(line), maxLogged)])), "\uFFFD")
}
