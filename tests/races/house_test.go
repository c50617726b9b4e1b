package races

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/oracle"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tests/rows"
)

// patience is how long one answer may take before a test fails.
const patience = time.Minute

// mark is in every id and text of a race, so that what is left of it is found.
const mark = "racing"

// house is a host on a store of its own.
type house struct {
	t     *testing.T
	host  *host.Host
	store *sqlite.Store
	file  *sql.Conn // reads the same database
	gates *gates
}

// open starts a host that ends with the test.
func open(t *testing.T) *house {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{
		Durability: sqlite.DurabilityProcess, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	h := &house{t: t, store: store, gates: &gates{closed: map[string]chan struct{}{}}}
	h.host, err = host.New(unswept{store}, map[string]host.Profile{sessions.DefaultProfile: {Oracle: h.gates}}, host.Config{StopGrace: time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, h.host.Start(t.Context()))
	t.Cleanup(h.host.Stop)

	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	h.file, err = db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.file.Close()) })
	return h
}

// unswept is a store that a host does not sweep, so that nothing but the sides of
// a race stands in its line.
type unswept struct{ *sqlite.Store }

// Sweep does nothing.
func (unswept) Sweep(context.Context, sessions.Time) error { return nil }

// ask makes one call of the host.
func ask[Args, Result any](h *house, call func(*host.Access, context.Context, Args) (Result, error), args Args) (Result, sessions.Code) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result, err := call(h.host.Access, ctx, args)
	if ctx.Err() != nil {
		stacks := make([]byte, 1<<20)
		panic(fmt.Sprintf("the host does not answer\n%s", stacks[:runtime.Stack(stacks, true)]))
	}
	return result, sessions.CodeOf(err)
}

// must is ask for what has to succeed.
func must[Args, Result any](h *house, call func(*host.Access, context.Context, Args) (Result, error), args Args) Result {
	h.t.Helper()
	result, code := ask(h, call, args)
	require.Empty(h.t, code)
	return result
}

func byID(id sessions.SessionID) api.Address { return api.Address{SessionID: id} }

// awaitLine returns when n writes stand in the writer's line.
func (h *house) awaitLine(n int) {
	until := time.Now().Add(patience)
	for h.store.Waiting() < n {
		if runtime.Gosched(); time.Now().After(until) {
			panic(fmt.Sprintf("%d writes wait, not %d", h.store.Waiting(), n))
		}
	}
}

// version differs whenever a commit has changed anything in the database.
func (h *house) version() (version int64) {
	h.t.Helper()
	require.NoError(h.t, h.file.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&version))
	return version
}

// rows returns every row of every table as text.
func (h *house) rows() string {
	h.t.Helper()
	var all strings.Builder
	for _, table := range rows.Tables(h.t, h.file) {
		_, cells := rows.Of(h.t, h.file, table)
		fmt.Fprintln(&all, table, cells)
	}
	return all.String()
}

// A prompt that has asksClient in it makes the model call the tool at clientTool,
// which clients run.
const (
	asksClient = "ask the client"
	clientTool = "/functions/look"
)

// gates is an oracle that answers a prompt, or a tool's result, when its gate is
// opened, if it was closed before.
type gates struct {
	mu     sync.Mutex
	closed map[string]chan struct{} // by prompt
}

// Name returns the oracle's name.
func (*gates) Name() string { return "gates" }

// Infer answers.
func (g *gates) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		g.mu.Lock()
		said := lastSaid(r.Messages)
		gate := g.closed[said]
		g.mu.Unlock()
		if gate != nil {
			select {
			case <-gate:
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
		if strings.Contains(said, asksClient) {
			_ = yield(oracle.ToolCall{Function: sessions.FunctionName(clientTool), Args: "{}"}, nil) && yield(oracle.Stop{Reason: oracle.StopCalls}, nil)
			return
		}
		_ = yield(oracle.TextDelta{Text: mark + " answer"}, nil) && yield(oracle.Stop{Reason: oracle.StopDone}, nil)
	}
}

// lastSaid is the text of the last message, or what a tool gave as text.
func lastSaid(messages []sessions.Message) string {
	last := messages[len(messages)-1]
	var text string
	if last.Role == sessions.RoleTool && json.Unmarshal(last.Content[0].Value, &text) == nil {
		return text
	}
	return sessions.TextOf(last.Content)
}

// closeFor closes a gate. It is closed until opened is called.
func (g *gates) closeFor(prompt string) (opened func()) {
	gate := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed[prompt] = gate
	return sync.OnceFunc(func() { close(gate) })
}
