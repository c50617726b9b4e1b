package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// steady is how long a server must have been there for its next end to count as
// its first.
const steady = 30 * time.Second

// server is one MCP server through all of its sessions.
type server struct {
	about    Server
	config   Config
	log      *slog.Logger
	redactor *strings.Replacer // takes secrets out of texts
	halted   <-chan struct{}
	tried    chan struct{} // closed when the first start has succeeded or failed
	closing  sync.WaitGroup

	catalogue *catalogue // for run's goroutine only
	pauses    pauses     // the same

	mu   sync.Mutex
	link *link
	came chan struct{} // closed and replaced when there is another link
}

func newServer(about Server, mounts Mounts, c Config, halted <-chan struct{}) (*server, error) {
	if err := about.check(); err != nil {
		return nil, err
	}
	log := c.Logger.With("mcp", about.Name)
	s := &server{
		about: about, config: c, log: log, redactor: redactorOf(about), halted: halted,
		tried: make(chan struct{}), came: make(chan struct{}),
		pauses: pauses{first: c.FirstPause, longest: c.LongestPause},
	}
	s.catalogue = newCatalogue(s, mounts)
	return s, nil
}

// redactorOf hides what a server's configuration may hold of secrets: its key,
// and its URL, of which some have one in their query.
func redactorOf(about Server) *strings.Replacer {
	var pairs []string
	if about.Key != "" {
		pairs = append(pairs, about.Key, "****")
	}
	if about.URL != "" {
		pairs = append(pairs, about.URL, "the server's URL")
	}
	if at, err := url.Parse(about.URL); err == nil && at.RawQuery != "" {
		pairs = append(pairs, at.RawQuery, "****")
	}
	return strings.NewReplacer(pairs...)
}

// redact returns an error with the text of err, without secrets.
func (s *server) redact(err error) error { return errors.New(s.redactor.Replace(err.Error())) }

// run keeps the server there until ctx ends.
func (s *server) run(ctx context.Context) {
	defer s.closing.Wait()
	settled := sync.OnceFunc(func() { close(s.tried) })
	defer settled()
	for {
		err := s.attend(ctx, settled)
		if ctx.Err() != nil {
			return
		}
		pause := s.pauses.next()
		s.log.Warn("the MCP server is not there; it is tried again", "after", pause, "error", s.redact(err))
		settled()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// attend has one session with the server, from its start to its end. settled is
// called when the tools are mounted.
func (s *server) attend(ctx context.Context, settled func()) (err error) {
	l, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() {
		s.part(l)
		err = l.explained(err)
	}()
	if err := s.list(ctx, l); err != nil {
		return err
	}
	s.install(l)
	settled()
	s.log.Info("the MCP server is there", "tools", len(s.catalogue.mounted))
	return s.follow(ctx, l)
}

// follow keeps the tools as the server lists them, until the session breaks.
func (s *server) follow(ctx context.Context, l *link) error {
	lasts := time.NewTimer(steady)
	defer lasts.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.broken:
			return l.cause
		case <-lasts.C:
			s.pauses.reset()
		case <-l.changed:
			if err := s.list(ctx, l); err != nil {
				return err
			}
		}
	}
}

// list asks for the server's tools and mounts them.
func (s *server) list(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.StartTimeout)
	defer cancel()
	listed, err := l.list(ctx)
	if err != nil {
		return err
	}
	if len(listed) == maxTools {
		s.log.Warn("the MCP server lists more tools than a host takes; the others are left out", "limit", maxTools)
	}
	s.catalogue.update(listed)
	return nil
}

// install makes l the session that calls use.
func (s *server) install(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = l
	close(s.came)
	s.came = make(chan struct{})
}

// part ends a session. A process is waited for, so that no two of them work on
// the same things; calls over HTTP may go on beside the next session.
func (s *server) part(l *link) {
	l.fail(errParted)
	if l.process != nil {
		l.close()
		return
	}
	s.closing.Go(l.close)
}

// present returns the session there is, nil if none, and what is closed when
// there is another.
func (s *server) present() (*link, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil || s.link.isBroken() {
		return nil, s.came
	}
	return s.link, s.came
}

// await returns the session there is, or comes within the time for that.
func (s *server) await(ctx context.Context) (*link, error) {
	late := time.NewTimer(s.config.OutageWait)
	defer late.Stop()
	for {
		l, came := s.present()
		if l != nil {
			return l, nil
		}
		select {
		case <-came:
		case <-late.C:
			return nil, s.errAway()
		case <-s.halted:
			return nil, s.errAway()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// call runs a tool. When the session breaks, the call is made once more if it
// may be, or if the server says that it has never heard of the session.
func (s *server) call(ctx context.Context, params *sdk.CallToolParams, repeatable bool) (*sdk.CallToolResult, error) {
	var broke error
	for range 2 {
		l, err := s.await(ctx)
		if err != nil {
			return nil, err
		}
		result, err := l.call(ctx, params, s.halted)
		switch {
		case err == nil:
			return result, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case isAnswer(err):
			return nil, s.errRefused(err)
		}
		broke = err
		l.fail(err)
		if !repeatable && !errors.Is(err, sdk.ErrSessionMissing) {
			break
		}
	}
	return nil, s.errBroke(broke)
}
