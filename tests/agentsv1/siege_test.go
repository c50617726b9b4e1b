package agentsv1

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	face "agenthost/host/agentsv1"
	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/oracle"
	"agenthost/sessions"
	"agenthost/tests/rawhttp"
)

// times are what a siege has shorter than a host has it, so that tests need not
// wait that long. Zero values are the host's own.
type times struct{ body, stall, comment time.Duration }

// siege is a world with a door on a socket as the command opens it, and what is
// needed to tell whether it has held.
type siege struct {
	*world
	address string
	idle    string // a session that others use
	quiet   int    // goroutines when nobody is there
	conns   []*rawhttp.Conn

	mu       sync.Mutex
	statuses []int        // of all answers
	log      bytes.Buffer // in JSON
}

func newSiege(t *testing.T, script oracle.Oracle, fit fitting, times times) *siege {
	t.Helper()
	s := &siege{}
	log := slog.New(slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelWarn}))
	fit.log = log
	s.world = newFitted(t, script, fit)
	authenticate := server.Bearer(s.host.Admit)
	var doors *server.Server
	stay := func(ctx context.Context, caller api.Caller) (context.Context, context.CancelFunc, error) {
		return doors.Stay(ctx, caller)
	}
	doors = server.New(server.For(s.host), server.Config{Logger: log, Limits: fit.limits, Observer: s,
		Authenticate: authenticate, Readmit: s.host.Readmit, BodyTimeout: times.body, StallAfter: times.stall, DrainFor: time.Second,
		Agents: watched{s.watch, face.New(s.host, face.Config{Authenticate: authenticate, Stay: stay, Logger: log, Limits: fit.limits,
			BodyTimeout: times.body, StallAfter: times.stall, CommentEvery: times.comment})}})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.address = listener.Addr().String()
	s.url = "http://" + s.address
	s.client = openai.NewClient(option.WithBaseURL(s.url+"/v1"), option.WithAPIKey("any"),
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- doors.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		<-served
	})
	s.idle = s.made("hello", "idle")
	s.rest()
	s.quiet = runtime.NumGoroutine()
	return s
}

// rest waits until no session is in memory.
func (s *siege) rest() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { resident, _ := s.host.System().Counts(); return resident == 0 }, patience, 5*time.Millisecond)
}

// Answered implements server.Observer.
func (s *siege) Answered(_ server.Door, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses = append(s.statuses, status)
}

// Done implements server.Observer.
func (s *siege) Done(api.Op, sessions.Code, time.Duration) {}

// Write takes a line of the log.
func (s *siege) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

// held closes all connections and requires that others are served, that nothing is left of who came, and that
// the host has met no fault of its own.
func (s *siege) held() {
	s.t.Helper()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.conns = nil
	_, err := s.sessions().Get(s.ctx(), s.idle)
	require.NoError(s.t, err)
	s.made("hello", "idle")
	s.rest()
	if !s.settles() {
		stacks := make([]byte, 1<<20)
		s.t.Fatalf("%d goroutines, where there were %d:\n%s", runtime.NumGoroutine(), s.quiet, stacks[:runtime.Stack(stacks, true)])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	require.False(s.t, slices.ContainsFunc(s.statuses, func(status int) bool { return status >= 500 }), "%v", s.statuses)
	require.NotContains(s.t, s.log.String(), "panic")
	require.NotContains(s.t, s.log.String(), `"level":"ERROR"`)
}

// settles waits until there are no more goroutines than in the beginning.
func (s *siege) settles() bool {
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if runtime.NumGoroutine() <= s.quiet {
			return true
		}
		<-time.After(5 * time.Millisecond)
	}
	return false
}

// dial sends text by hand.
func (s *siege) dial(text string) *rawhttp.Conn {
	s.t.Helper()
	conn := rawhttp.Dial(s.t, s.address, text)
	s.conns = append(s.conns, conn)
	return conn
}

// created makes a session by a stream, and reads that to its end.
func (s *siege) created(body string) (id string, events []seen) {
	s.t.Helper()
	a := s.dial(beta("POST", "/sessions", body, jsonType, "Connection: close")).Answer()
	require.Equal(s.t, 200, a.Status, a.Body)
	f := &follower{w: s.world, in: bufio.NewReader(strings.NewReader(a.Body))}
	for e, ok := f.next(); ok; e, ok = f.next() {
		events = append(events, e)
	}
	return gjson.Get(events[0].data, "session.id").String(), events
}

// beta is a request of the API by hand.
func beta(method, path, body string, header ...string) string {
	return rawhttp.Request(method, "/v1/agents"+path, body, append([]string{"OpenAI-Beta: agents=v1"}, header...)...)
}

// requireProblem requires an answer with an error as the API shows it, and returns its
// code.
func requireProblem(t *testing.T, a rawhttp.Answer, status int, about string) (code string) {
	t.Helper()
	require.Equal(t, status, a.Status, "%s: %s", about, a.Body)
	require.Equal(t, "application/json", a.Header.Get("Content-Type"), about)
	require.Regexp(t, "^req_[0-9a-f]{32}$", a.Header.Get("X-Request-Id"), about)
	var body map[string]map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.Body), &body), about)
	require.Len(t, body, 1, about)
	for _, member := range []string{"message", "type", "code", "param"} {
		require.Contains(t, body["error"], member, about)
	}
	require.Len(t, body["error"], 4, about)
	code, _ = body["error"]["code"].(string)
	require.NotEmpty(t, code, about)
	return code
}
