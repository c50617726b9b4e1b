package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/host/server"
	"agenthost/sessions"
)

func TestPromptStreams(t *testing.T) {
	delta := sessions.Frame{TurnID: "t", Body: sessions.Delta{Step: 1, Attempt: 1, Text: "he"}}
	sent := []sessions.Frame{frame(1, sessions.Accepted{}), delta, frame(2, sessions.TextPart{Step: 1, Attempt: 1, Text: "hello"}), frame(3, sessions.Completed{})}
	c := dial(t, &service{do: func(_ context.Context, _ api.Caller, args any, emit emitFunc) (any, error) {
		require.True(t, args.(*api.PromptArgs).Stream)
		for _, f := range sent {
			require.NoError(t, emit(f))
		}
		return api.PromptResult{Status: api.PromptCompleted, TurnID: "t"}, nil
	}})
	var got []sessions.Frame
	result, err := c.Prompt(t.Context(), api.PromptArgs{Text: "x"}, func(f sessions.Frame) error { got = append(got, f); return nil })
	require.NoError(t, err)
	require.EqualValues(t, "t", result.TurnID)
	require.Equal(t, sent, got)
}

func TestPromptThatFailsWhileStreaming(t *testing.T) {
	c := dial(t, &service{do: func(_ context.Context, _ api.Caller, _ any, emit emitFunc) (any, error) {
		require.NoError(t, emit(frame(1, sessions.Accepted{})))
		return nil, sessions.Errorf(sessions.CodeCancelled, "Cancelled.")
	}})
	_, err := c.Prompt(t.Context(), api.PromptArgs{Text: "x"}, ignore)
	require.Equal(t, sessions.CodeCancelled, sessions.CodeOf(err))
}

func TestPromptEndsWithTheErrorOfItsReader(t *testing.T) {
	left := make(chan struct{})
	c := dial(t, &service{do: func(ctx context.Context, _ api.Caller, _ any, emit emitFunc) (any, error) {
		defer close(left)
		require.NoError(t, emit(frame(1, sessions.Accepted{})))
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	enough := errors.New("enough")
	_, err := c.Prompt(t.Context(), api.PromptArgs{Text: "x"}, func(sessions.Frame) error { return enough })
	require.ErrorIs(t, err, enough)
	<-left
}

// breaker is a listener whose connections can be cut from outside.
type breaker struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (b *breaker) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err == nil {
		b.mu.Lock()
		b.conns = append(b.conns, conn)
		b.mu.Unlock()
	}
	return conn, err
}

func (b *breaker) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, conn := range b.conns {
		conn.Close()
	}
	b.conns = nil
}

func TestCase01LostPromptIsSentAgainUnderItsRequestID(t *testing.T) {
	for name, onFrame := range map[string]bool{"reply": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			line := &breaker{Listener: listen(t)}
			ids := make(chan sessions.RequestID, 10)
			seen := make(chan struct{})
			s := &service{do: func(ctx context.Context, _ api.Caller, args any, emit emitFunc) (any, error) {
				ids <- args.(*api.PromptArgs).RequestID
				if len(ids) == 1 {
					if emit != nil {
						require.NoError(t, emit(frame(1, sessions.Accepted{})))
						require.NoError(t, emit(frame(2, sessions.Started{})))
						<-seen
					}
					line.cut()
					<-ctx.Done()
					return nil, ctx.Err()
				}
				for seq := range int64(3) {
					if emit != nil {
						require.NoError(t, emit(frame(seq+1, sessions.Started{})))
					}
				}
				return api.PromptResult{Status: api.PromptCompleted, Duplicate: true}, nil
			}}
			serve(t, s, server.Config{}, line)
			c := dialTo(t, line.Addr().String(), client.Config{})
			var seqs []int64
			var read emitFunc
			if onFrame {
				read = func(f sessions.Frame) error {
					seqs = append(seqs, f.Seq)
					if f.Seq == 2 {
						close(seen)
					}
					return nil
				}
			}
			result, err := c.Prompt(t.Context(), api.PromptArgs{Text: "x"}, read)
			require.NoError(t, err)
			require.True(t, result.Duplicate)
			require.Len(t, ids, 2)
			first := <-ids
			require.NotEmpty(t, first)
			require.Equal(t, first, <-ids)
			if onFrame {
				require.Equal(t, []int64{1, 2, 3}, seqs, "no frame came twice")
			}
		})
	}
}

func TestOtherCallsAreNotRepeated(t *testing.T) {
	line := &breaker{Listener: listen(t)}
	var calls atomic.Int64
	s := &service{do: func(ctx context.Context, _ api.Caller, _ any, _ emitFunc) (any, error) {
		calls.Add(1)
		line.cut()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	serve(t, s, server.Config{}, line)
	_, err := dialTo(t, line.Addr().String(), client.Config{}).SessionSeed(t.Context(), api.SessionSeedArgs{RequestID: "r"})
	require.ErrorIs(t, err, client.ErrUnreachable)
	require.EqualValues(t, 1, calls.Load())
}

func TestPromptToAHostThatIsGoneFailsAtOnce(t *testing.T) {
	line := listen(t)
	dials := 0
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	serve(t, &service{}, server.Config{}, line)
	c := dialTo(t, line.Addr().String(), client.Config{HTTPClient: &http.Client{Transport: transport}})
	require.NoError(t, line.Close())
	dials = 0
	_, err := c.Prompt(t.Context(), api.PromptArgs{Text: "x"}, nil)
	require.ErrorIs(t, err, client.ErrUnreachable)
	require.Equal(t, 1, dials)
}

func TestPromptThatIsTooLargeForTheHostIsNotRepeated(t *testing.T) {
	c := dial(t, &service{do: func(context.Context, api.Caller, any, emitFunc) (any, error) {
		return nil, errors.New("it came through")
	}})
	text := strings.Repeat("x", int(sessions.DefaultLimits().EnvelopeBytes)+1)
	_, err := c.Prompt(t.Context(), api.PromptArgs{Text: text}, ignore)
	require.Equal(t, sessions.CodePayloadTooLarge, sessions.CodeOf(err), "%v", err)
}
