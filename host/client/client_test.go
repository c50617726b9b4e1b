package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/host/server"
	"agenthost/sessions"
)

type emitFunc = func(sessions.Frame) error

// service answers every operation with one function.
type service struct {
	do        func(ctx context.Context, caller api.Caller, args any, emit emitFunc) (any, error)
	subscribe func(args *api.SubscribeArgs) (server.Subscription, error)
}

func (s *service) Do(ctx context.Context, caller api.Caller, args any, emit emitFunc) (any, error) {
	return s.do(ctx, caller, args, emit)
}

func (s *service) Subscribe(_ context.Context, _ api.Caller, args *api.SubscribeArgs) (server.Subscription, error) {
	return s.subscribe(args)
}

func (s *service) Ready(context.Context) error { return nil }

// serve serves s until the test ends.
func serve(t *testing.T, s *service, config server.Config, listener net.Listener) {
	t.Helper()
	config.DrainFor = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = server.New(s, config).Serve(ctx, listener) })
	t.Cleanup(func() { cancel(); group.Wait() })
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}

// dial serves s on a loopback port and returns a client of it.
func dial(t *testing.T, s *service) *client.Client {
	t.Helper()
	listener := listen(t)
	serve(t, s, server.Config{}, listener)
	return dialTo(t, listener.Addr().String(), client.Config{})
}

func dialTo(t *testing.T, address string, config client.Config) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), address, config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func frame(seq int64, body sessions.FrameBody) sessions.Frame {
	return sessions.Frame{Seq: seq, Cursor: sessions.CursorAt(1, seq), TurnID: "t", RequestID: "r", At: 1, Body: body}
}

func TestEveryOperationSendsItsArgumentsAndGivesItsResult(t *testing.T) {
	var got any
	var result any
	c := dial(t, &service{do: func(_ context.Context, _ api.Caller, args any, _ emitFunc) (any, error) {
		got = args
		return result, nil
	}})
	at := api.Address{SessionID: "a"}
	session := sessions.Session{ID: "a", Labels: map[string]string{}, Pending: []sessions.Pending{}}
	ctx := t.Context()

	check(t, &got, &result, &api.PingArgs{}, api.PingResult{Time: 5}, func(api.PingArgs) (*api.PingResult, error) { return c.Ping(ctx) })
	check(t, &got, &result, &api.HostInfoArgs{}, api.HostInfoResult{Version: "v"}, func(api.HostInfoArgs) (*api.HostInfoResult, error) { return c.HostInfo(ctx) })
	check(t, &got, &result, &api.SessionCreateArgs{Address: at, Title: "x"}, api.SessionCreateResult{Session: session, Created: true}, bind(ctx, c.SessionCreate))
	check(t, &got, &result, &api.SessionGetArgs{Address: at}, api.SessionGetResult{Session: session}, bind(ctx, c.SessionGet))
	check(t, &got, &result, &api.SessionListArgs{ParentID: api.Null[sessions.SessionID]()}, api.SessionListResult{Sessions: []sessions.Session{session}}, bind(ctx, c.SessionList))
	check(t, &got, &result, &api.SessionUpdateArgs{Address: at, Title: new("")}, api.SessionUpdateResult{Session: session}, bind(ctx, c.SessionUpdate))
	check(t, &got, &result, &api.SessionDeleteArgs{Address: at}, api.SessionDeleteResult{Deleted: true}, bind(ctx, c.SessionDelete))
	check(t, &got, &result, &api.SessionClearAllArgs{}, api.SessionClearAllResult{Teardown: api.TeardownPending}, bind(ctx, c.SessionClearAll))
	check(t, &got, &result, &api.SessionSeedArgs{Address: at, Messages: []api.SeedMessage{{Role: sessions.RoleUser, Content: sessions.Text("x")}}},
		api.SessionSeedResult{Session: session, Appended: 1}, bind(ctx, c.SessionSeed))
	check(t, &got, &result, &api.SessionForkArgs{Address: at, ThroughSeq: new(int64(2)), NewTargetKey: "k"}, api.SessionForkResult{Session: session}, bind(ctx, c.SessionFork))
	check(t, &got, &result, &api.ChildrenArgs{Address: at}, api.ChildrenResult{Refs: []sessions.Ref{{SessionID: "b", Location: sessions.Local}}}, bind(ctx, c.Children))
	check(t, &got, &result, &api.PromptArgs{Address: at, Text: "x", RequestID: "r"}, api.PromptResult{Status: api.PromptCompleted, TurnID: "t"},
		func(a api.PromptArgs) (*api.PromptResult, error) { return c.Prompt(ctx, a, nil) })
	check(t, &got, &result, &api.CancelArgs{Address: at}, api.CancelResult{Cancelled: true}, bind(ctx, c.Cancel))
	check(t, &got, &result, &api.TurnsArgs{Address: at, Limit: new(3)}, api.TurnsResult{Turns: []sessions.Turn{{TurnID: "t"}}}, bind(ctx, c.Turns))
	check(t, &got, &result, &api.MessagesArgs{Address: at, Order: api.Descending}, api.MessagesResult{Messages: []sessions.Message{{Seq: 1, Content: sessions.Text("x")}}}, bind(ctx, c.Messages))
	check(t, &got, &result, &api.FramesArgs{Address: at, After: "0"}, api.FramesResult{Frames: []sessions.Frame{frame(1, sessions.Started{})}, HasMore: true}, bind(ctx, c.Frames))
	check(t, &got, &result, &api.StateArgs{Address: at, Name: "n"}, api.StateResult{State: map[string]sessions.StateValue{"n": {Value: []byte(`1`), Version: 2, UpdatedAt: 3}}}, bind(ctx, c.State))
}

func bind[A, R any](ctx context.Context, f func(context.Context, A) (*R, error)) func(A) (*R, error) {
	return func(a A) (*R, error) { return f(ctx, a) }
}

func check[A, R any](t *testing.T, got, answer *any, args *A, result R, f func(A) (*R, error)) {
	t.Helper()
	*answer = result
	r, err := f(*args)
	require.NoError(t, err)
	require.Equal(t, args, *got)
	require.Equal(t, result, *r)
}

func TestErrorsKeepTheirCode(t *testing.T) {
	c := dial(t, &service{do: func(context.Context, api.Caller, any, emitFunc) (any, error) {
		return nil, sessions.Errorf(sessions.CodeAgentTimeout, "Too long.").With("turnId", "t1")
	}})
	_, err := c.Ping(t.Context())
	require.Equal(t, sessions.CodeAgentTimeout, sessions.CodeOf(err))
	require.Equal(t, map[string]any{"turnId": "t1"}, sessions.AsError(err).Details)
	require.NotErrorIs(t, err, client.ErrUnreachable)
}

func TestNobodyThere(t *testing.T) {
	listener := listen(t)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, err := client.Dial(t.Context(), address, client.Config{})
	require.ErrorIs(t, err, client.ErrUnreachable)

	_, err = client.Dial(t.Context(), "unix://"+filepath.Join(t.TempDir(), "none"), client.Config{})
	require.ErrorIs(t, err, client.ErrUnreachable)
}

func TestSomethingElseThere(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	_, err := client.Dial(t.Context(), other.URL, client.Config{})
	require.ErrorIs(t, err, client.ErrUnreachable)
	require.ErrorContains(t, err, "no agenthost")
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "http://", "ftp://x", "unix://", "http://%zz"} {
		_, err := client.Dial(t.Context(), bad, client.Config{})
		require.Error(t, err, bad)
		require.NotErrorIs(t, err, client.ErrUnreachable, bad)
	}
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	ping := &service{do: func(context.Context, api.Caller, any, emitFunc) (any, error) { return api.PingResult{Time: 5}, nil }}
	serve(t, ping, server.Config{}, listener)
	result, err := dialTo(t, "unix://"+path, client.Config{}).Ping(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, result.Time)
}

func TestKeyIsSentEverywhere(t *testing.T) {
	listener := listen(t)
	s := &service{do: func(_ context.Context, caller api.Caller, _ any, emit emitFunc) (any, error) {
		require.EqualValues(t, "o", caller.Owner)
		return api.PromptResult{}, nil
	}}
	serve(t, s, server.Config{Authenticate: func(r *http.Request) (api.Caller, error) {
		if r.Header.Get("Authorization") != "Bearer k" {
			return api.Caller{}, sessions.Errorf(sessions.CodeUnauthenticated, "A key is needed.")
		}
		return api.Caller{Owner: "o"}, nil
	}}, listener)
	good := dialTo(t, listener.Addr().String(), client.Config{Key: "k"})
	for _, onFrame := range []emitFunc{nil, ignore} {
		_, err := good.Prompt(t.Context(), api.PromptArgs{Text: "x"}, onFrame)
		require.NoError(t, err)
	}
	bad := dialTo(t, listener.Addr().String(), client.Config{})
	for _, onFrame := range []emitFunc{nil, ignore} {
		_, err := bad.Prompt(t.Context(), api.PromptArgs{Text: "x"}, onFrame)
		require.Equal(t, sessions.CodeUnauthenticated, sessions.CodeOf(err), err)
	}
	_, err := bad.Subscribe(t.Context(), api.SubscribeArgs{})
	require.Equal(t, sessions.CodeUnauthenticated, sessions.CodeOf(err))
}

func ignore(sessions.Frame) error { return nil }

func TestCallerGivesUp(t *testing.T) {
	began := make(chan struct{})
	c := dial(t, &service{do: func(ctx context.Context, _ api.Caller, _ any, _ emitFunc) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	for _, onFrame := range []emitFunc{nil, ignore} {
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := make(chan error)
		go func() {
			_, err := c.Prompt(ctx, api.PromptArgs{Text: "x"}, onFrame)
			failed <- err
		}()
		<-began
		cancel(gone)
		err := <-failed
		require.ErrorIs(t, err, gone)
		require.NotErrorIs(t, err, client.ErrUnreachable)
	}
}

// pipes is a listener whose connections never leave the process.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func TestTransportIsTheCallers(t *testing.T) {
	listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &service{do: func(_ context.Context, _ api.Caller, _ any, emit emitFunc) (any, error) {
		return api.PromptResult{}, emit(frame(1, sessions.Started{}))
	}}
	serve(t, s, server.Config{}, listener)
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		listener.conns <- far
		return near, nil
	}}
	t.Cleanup(transport.CloseIdleConnections)
	c := dialTo(t, "http://in-process", client.Config{HTTPClient: &http.Client{Transport: transport}})
	var frames int
	_, err := c.Prompt(t.Context(), api.PromptArgs{Text: "x"}, func(sessions.Frame) error { frames++; return nil })
	require.NoError(t, err)
	require.Equal(t, 1, frames)
}
