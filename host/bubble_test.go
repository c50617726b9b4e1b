package host_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/oracle/scripted"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// bubble is a host in fake time, with its log.
type bubble struct {
	*host.Host

	t      *testing.T
	file   string
	config host.Config
	log    *logText
	store  sessions.Store
	wrap   func(sessions.Store) sessions.Store
}

// logText is a log that can be read while it is written.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// inBubble starts a host that ends with the test, which is to run in a bubble.
func inBubble(t *testing.T, c host.Config, wrap func(sessions.Store) sessions.Store) *bubble {
	t.Helper()
	t.Cleanup(func() { <-time.After(2 * time.Second) }) // the actor library's last goroutine
	b := &bubble{t: t, file: filepath.Join(t.TempDir(), "test.db"), config: c, log: &logText{}, wrap: wrap}
	b.config.Logger = slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	b.start()
	t.Cleanup(func() { b.Stop() })
	return b
}

func (b *bubble) start() {
	b.t.Helper()
	file, err := sqlite.Open(b.t.Context(), b.file, sqlite.Config{Durability: sqlite.DurabilityProcess})
	require.NoError(b.t, err)
	b.store = file
	if b.wrap != nil {
		b.store = b.wrap(file)
	}
	answer := scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{{Text: "fine"}}}}})
	slow := scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{{Delay: time.Hour, Text: "late"}}}}})
	b.Host, err = host.New(b.store, map[string]host.Profile{
		sessions.DefaultProfile: {Oracle: answer},
		"other":                 {Oracle: answer},
		"slow":                  {Oracle: slow, PromptTimeout: 2 * time.Hour},
	}, b.config)
	require.NoError(b.t, err)
	require.NoError(b.t, b.Start(b.t.Context()))
}

func (b *bubble) restart() {
	b.t.Helper()
	b.Stop()
	b.start()
}

// make makes a session, below a parent if one is named.
func (b *bubble) make(id sessions.SessionID, profile string, parent sessions.SessionID) {
	b.t.Helper()
	args := api.SessionCreateArgs{Address: api.Address{SessionID: id, ProfileKey: profile}}
	if parent != "" {
		args.ParentID, args.ParentLocation = parent, sessions.Local
	}
	_, err := b.SessionCreate(b.t.Context(), &args)
	require.NoError(b.t, err)
}

// say sends a prompt and awaits its end.
func (b *bubble) say(id sessions.SessionID) {
	b.t.Helper()
	_, err := b.Prompt(b.t.Context(), &api.PromptArgs{Address: api.Address{SessionID: id}, Text: "hi"}, nil)
	require.NoError(b.t, err)
}

// ids are the sessions there are, in the order of their ids.
func (b *bubble) ids() []sessions.SessionID {
	b.t.Helper()
	page, err := b.SessionList(b.t.Context(), &api.SessionListArgs{Limit: new(api.MaxPageLimit)})
	require.NoError(b.t, err)
	ids := []sessions.SessionID{}
	for _, s := range page.Sessions {
		ids = append(ids, s.ID)
	}
	return ids
}
