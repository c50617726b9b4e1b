package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// writeWait is how long a process may take no input before it counts as hung.
	writeWait = 30 * time.Second
	// drainWait is how long is read what a process has left in its pipes.
	drainWait = time.Second
)

// inherited are the variables of this process that every server gets: what
// programs need to find their files and to speak the user's language. The others
// may be secrets that are none of its business.
var inherited = []string{"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}

// process is a server's program, the leader of a process group of its own.
type process struct {
	cmd    *exec.Cmd
	grace  time.Duration
	stdin  *input
	stdout *os.File
	stderr *os.File
	exited chan struct{}
	work   sync.WaitGroup
	ends   sync.Once
	fate   string // how the process failed by itself; "" if it did not, or before stop has returned
}

func startProcess(command, env []string, grace time.Duration, log *slog.Logger) (_ *process, err error) {
	// Its end is the work of stop, which reaches the group.
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	p := &process{cmd: cmd, grace: grace, exited: make(chan struct{})}
	p.cmd.Env = append(inheritedEnv(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var pipes pipes
	defer func() { pipes.closeTheirs(); pipes.closeAllIf(err != nil) }()
	p.cmd.Stdin, p.stdin = pipes.in()
	p.cmd.Stdout, p.stdout = pipes.out()
	p.cmd.Stderr, p.stderr = pipes.out()
	if pipes.err != nil {
		return nil, pipes.err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("its program does not start: %w", err)
	}
	p.work.Go(func() { logLines(p.stderr, log) })
	p.work.Go(func() {
		err := p.cmd.Wait()
		log.Debug("the process has ended", "state", p.cmd.ProcessState.String(), "error", err)
		// Others may hold the pipes open, for as long as they like.
		_ = p.stdout.SetReadDeadline(time.Now().Add(drainWait))
		_ = p.stderr.SetReadDeadline(time.Now().Add(drainWait))
		close(p.exited)
	})
	return p, nil
}

func inheritedEnv() []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// stop ends the process and whatever it has left in its group: by closing its
// input, then by SIGTERM, then by SIGKILL. It returns when the process is gone.
func (p *process) stop() {
	p.ends.Do(func() {
		_ = p.stdin.Close()
		byItself := p.goes()
		if !byItself {
			p.signal(syscall.SIGTERM)
			p.goes()
		}
		p.signal(syscall.SIGKILL)
		<-p.exited
		if state := p.cmd.ProcessState; byItself && !state.Success() {
			p.fate = state.String()
		}
		p.work.Wait() // for its last words
		_ = p.stdout.Close()
		_ = p.stderr.Close()
	})
}

// goes waits for the process within the grace, and reports whether it is gone.
func (p *process) goes() bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(p.grace):
		return false
	}
}

// signal reaches the whole group. The group keeps its number for as long as it
// has a member, also after its leader is gone; without any there is nobody to
// reach.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// input is the standard input of a process. A process that does not read for
// long must not hold up its callers for ever.
type input struct{ *os.File }

// Write writes all of b within writeWait.
func (in *input) Write(b []byte) (int, error) {
	if err := in.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return 0, err
	}
	return in.File.Write(b)
}

// pipes are the pipes of a process that is being started.
type pipes struct {
	ours, theirs []*os.File
	err          error
}

// in returns the end to be read by the process and the end to be written to.
func (ps *pipes) in() (*os.File, *input) {
	r, w := ps.pipe()
	ps.theirs, ps.ours = append(ps.theirs, r), append(ps.ours, w)
	return r, &input{w}
}

// out returns the end to be written by the process and the end to be read.
func (ps *pipes) out() (theirs, ours *os.File) {
	r, w := ps.pipe()
	ps.theirs, ps.ours = append(ps.theirs, w), append(ps.ours, r)
	return w, r
}

func (ps *pipes) pipe() (r, w *os.File) {
	r, w, err := os.Pipe()
	ps.err = errors.Join(ps.err, err)
	return r, w
}

func (ps *pipes) closeTheirs() { closeFiles(ps.theirs) }

func (ps *pipes) closeAllIf(failed bool) {
	if failed {
		closeFiles(ps.ours)
	}
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // of a nil file too, which is an error and nothing else
	}
}
