package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// terminal is a pseudo-terminal with a program on it.
type terminal struct {
	t       *testing.T
	control *os.File
	program *exec.Cmd
	reading sync.WaitGroup

	mu   sync.Mutex
	seen bytes.Buffer
}

func openTerminal(t *testing.T, program *exec.Cmd) *terminal {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	var number, unlocked uint32
	ioctl(t, control, syscall.TIOCSPTLCK, &unlocked)
	ioctl(t, control, syscall.TIOCGPTN, &number)
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer side.Close()
	x := &terminal{t: t, control: control, program: program}
	program.Stdin, program.Stdout, program.Stderr = side, side, side
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, program.Start())
	x.reading.Go(x.read)
	t.Cleanup(func() {
		_ = program.Process.Kill() // it may have ended, as tests make it do
		_ = program.Wait()
		_ = control.Close()
		x.reading.Wait()
	})
	return x
}

func ioctl(t *testing.T, file *os.File, request uintptr, value *uint32) {
	t.Helper()
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, uintptr(unsafe.Pointer(value)))
	require.Zero(t, errno)
}

func (x *terminal) read() {
	chunk := make([]byte, 4096)
	for {
		n, err := x.control.Read(chunk)
		x.mu.Lock()
		x.seen.Write(chunk[:n])
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

// sees waits until the terminal shows text, and forgets what came up to there.
func (x *terminal) sees(text string) {
	x.t.Helper()
	err := await(func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		i := strings.Index(x.seen.String(), text)
		if i >= 0 {
			x.seen.Next(i + len(text))
		}
		return i >= 0
	})
	require.NoError(x.t, err, "%q is not in %q", text, x.text())
}

func (x *terminal) types(keys string) {
	x.t.Helper()
	_, err := x.control.WriteString(keys)
	require.NoError(x.t, err)
}

func TestChatOnATerminal(t *testing.T) {
	p := newProgram(t)
	script := "rules:\n  - when: hang\n    steps: [{text: Well, hang: true}]\nsteps:\n  - {text: \"Hello\\e[2J you\", repeat: true}\n"
	require.NoError(t, os.WriteFile(filepath.Join(p.folder, "script.yaml"), []byte(script), 0o600))
	settings := "oracles: {play: {provider: scripted, file: script.yaml}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(p.folder, "agenthost.yaml"), []byte(settings), 0o600))
	chat := p.command("chat", "--target", "demo")
	chat.Env = append(chat.Env, "TERM=xterm")
	x := openTerminal(t, chat)

	x.sees("\x1b[2mCtrl-C cancels a turn, Ctrl-D leaves.\x1b[0m")
	x.sees("> ")
	x.types("hu\x7fang\r") // with a slip of the finger
	x.sees("Well")
	x.types("\x03")
	x.sees("CANCELLED: ")
	x.sees("> ")
	x.types("a mistake\x03\x03hi\r")
	x.sees("Hello[2J you\r\n")
	x.sees("> ")
	x.types("\x04")
	require.NoError(t, chat.Wait())

	messages, _ := p.run("sessions", "messages", "--target", "demo")
	require.Contains(t, messages, "\nhang\n")
	require.Contains(t, messages, "\nhi\n")
	require.NotContains(t, messages, "mistake")
}

// A chat asks for an answer that another client gives first, and goes on.
func TestAnotherClientAnswersAChat(t *testing.T) {
	p := newProgram(t)
	settings := "oracles: {o: {provider: offline}}\nprofiles: {default: {needsApproval: [/builtin/echo]}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(p.folder, "agenthost.yaml"), []byte(settings), 0o600))
	p.serve()
	x := openTerminal(t, p.command("chat", "--target", "demo"))
	asks := func(text string) {
		t.Helper()
		x.sees("> ")
		x.types("/call builtin/echo {\"text\":\"" + text + "\"}\r")
		x.sees("Approve? y or n")
	}
	asks("one")
	p.run("answer", "--target", "demo", "--decline")
	x.types("y\r")
	x.sees("CONFLICT: ")
	x.sees("The call was declined")
	asks("two")
	p.run("cancel", "--target", "demo")
	x.types("y\r")
	x.sees("NOT_FOUND: ")
	x.sees("CANCELLED: ")
	asks("three")
	x.types("y\r")
	x.sees(`/builtin/echo answered "three"`)
	asks("four")
	x.types("\x04")
	x.sees("The turn goes on waiting")
	require.NoError(t, x.program.Wait())
}

func TestColoursAreNotForEverybody(t *testing.T) {
	p := newProgram(t)
	version := p.command("prompt", "--target", "demo", "/call builtin/time {}")
	version.Env = append(version.Env, "TERM=xterm", "NO_COLOR=1")
	x := openTerminal(t, version)
	x.sees("→ /builtin/time {}\r\n")
	require.NoError(t, version.Wait())
	require.NotContains(t, x.text(), "\x1b")
}
