package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"agenthost/sessions"
	"agenthost/tools"
)

// Server says how one MCP server is reached, and where its tools go. Either
// Command or URL is given.
type Server struct {
	Name  string // for people
	Mount string // the path its tools are mounted below

	// Command is a program and its arguments that speaks MCP over its standard
	// input and output.
	Command []string
	// Env are variables of the program, NAME=value, beside the usual ones of this
	// process, such as PATH and HOME. It gets no others.
	Env []string

	URL string // of a server that speaks MCP over streamable HTTP
	Key string // goes with every request to URL's host as a bearer token; "" for none
}

// Mounts is where tools are mounted.
type Mounts interface {
	Mount(path string, t tools.Tool) error
	Unmount(path string) bool
}

// Config is what Start may be told besides what it needs. Zero values are the
// defaults.
type Config struct {
	Logger       *slog.Logger  // default: none
	Version      string        // of this program, as servers are told
	StartTimeout time.Duration // for a server to start and to list its tools; default 30 s
	OutageWait   time.Duration // for a call to wait for a server that is gone; default 5 s
	FirstPause   time.Duration // before a server is started again; doubles from here; default 500 ms
	LongestPause time.Duration // up to here; default 30 s
	StopGrace    time.Duration // for a session to end, or a process, and again after SIGTERM; default 2 s
}

func (c Config) withDefaults() Config {
	c.StartTimeout = cmp.Or(c.StartTimeout, 30*time.Second)
	c.OutageWait = cmp.Or(c.OutageWait, 5*time.Second)
	c.FirstPause = cmp.Or(c.FirstPause, 500*time.Millisecond)
	c.LongestPause = cmp.Or(c.LongestPause, 30*time.Second)
	c.StopGrace = cmp.Or(c.StopGrace, 2*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Servers are MCP servers under supervision. Its methods are safe for
// concurrent use.
type Servers struct {
	all     []*server
	halt    context.CancelFunc
	running sync.WaitGroup
}

// Start begins to run the servers, and to mount their tools as they list them.
// It does not wait for them. An error is INVALID_REQUEST about a server.
func Start(mounts Mounts, servers []Server, c Config) (*Servers, error) {
	c = c.withDefaults()
	ctx, halt := context.WithCancel(context.Background())
	all := &Servers{halt: halt}
	for _, about := range servers {
		s, err := newServer(about, mounts, c, ctx.Done())
		if err != nil {
			halt()
			return nil, err
		}
		all.all = append(all.all, s)
	}
	for _, s := range all.all {
		all.running.Go(func() { s.run(ctx) })
	}
	return all, nil
}

// Settle waits until every server has mounted its tools or has failed to start
// once, or until ctx ends.
func (all *Servers) Settle(ctx context.Context) {
	for _, s := range all.all {
		select {
		case <-s.tried:
		case <-ctx.Done():
			return
		}
	}
}

// Missing returns the names of the servers that are not there now.
func (all *Servers) Missing() []string {
	var names []string
	for _, s := range all.all {
		if l, _ := s.present(); l == nil {
			names = append(names, s.about.Name)
		}
	}
	return names
}

// Stop ends the calls under way, the sessions, and the processes with their
// groups. It returns when all are gone. The tools stay mounted and fail.
func (all *Servers) Stop() {
	all.halt()
	all.running.Wait()
}

func (s Server) check() error {
	if (len(s.Command) == 0) == (s.URL == "") {
		return sessions.Errorf(sessions.CodeInvalidRequest, "The MCP server %q needs a command or a URL, and not both.", s.Name)
	}
	if path, err := tools.ParsePath(s.Mount); err != nil || path != s.Mount {
		return sessions.Errorf(sessions.CodeInvalidRequest, "The MCP server %q cannot be mounted at %q; use a path such as /mcp/files.", s.Name, s.Mount)
	}
	return nil
}
