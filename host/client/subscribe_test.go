package client_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/host/server"
	"agenthost/sessions"
)

// script is a subscription that gives its frames, then its end, or nothing.
type script struct {
	frames []sessions.Frame
	end    error
	closed chan struct{}
}

func (s *script) Cursor() sessions.Cursor { return "c0" }

func (s *script) Next(ctx context.Context) (sessions.Frame, error) {
	if len(s.frames) > 0 {
		next := s.frames[0]
		s.frames = s.frames[1:]
		return next, nil
	}
	if s.end != nil {
		return sessions.Frame{}, s.end
	}
	<-ctx.Done()
	return sessions.Frame{}, ctx.Err()
}

func (s *script) Close() { close(s.closed) }

func subscribed(t *testing.T, s *script, args api.SubscribeArgs) *client.Subscription {
	t.Helper()
	s.closed = make(chan struct{})
	c := dial(t, &service{subscribe: func(got *api.SubscribeArgs) (server.Subscription, error) {
		require.Equal(t, args, *got)
		return s, nil
	}})
	sub, err := c.Subscribe(t.Context(), args)
	require.NoError(t, err)
	t.Cleanup(sub.Close)
	return sub
}

func TestSubscriptionGivesFramesAndItsEnd(t *testing.T) {
	delta := sessions.Frame{TurnID: "t", Body: sessions.Delta{Text: "x"}}
	sub := subscribed(t, &script{
		frames: []sessions.Frame{frame(1, sessions.Started{}), delta},
		end:    &api.EndError{Reason: api.EndSlow, Cursor: "c7"},
	}, api.SubscribeArgs{Address: api.Address{TargetKey: "k", ProfileKey: "p"}, After: "0"})
	require.EqualValues(t, "c0", sub.Cursor())
	f, err := sub.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, frame(1, sessions.Started{}), f)
	f, err = sub.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, delta, f)
	require.Equal(t, sessions.CursorAt(1, 1), sub.Cursor(), "a delta has no position")
	_, err = sub.Next(t.Context())
	require.Equal(t, &api.EndError{Reason: api.EndSlow, Cursor: "c7"}, err)
	require.EqualValues(t, "c7", sub.Cursor())
}

func TestClosedSubscriptionEndsAtTheHost(t *testing.T) {
	s := &script{}
	sub := subscribed(t, s, api.SubscribeArgs{})
	failed := make(chan error)
	go func() {
		_, err := sub.Next(t.Context())
		failed <- err
	}()
	sub.Close()
	require.ErrorIs(t, <-failed, client.ErrUnreachable)
	<-s.closed
}

func TestSubscriptionEndsWithItsContext(t *testing.T) {
	s := &script{}
	sub := subscribed(t, s, api.SubscribeArgs{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sub.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
	<-s.closed
}

func TestSubscriptionThatIsRefused(t *testing.T) {
	c := dial(t, &service{subscribe: func(*api.SubscribeArgs) (server.Subscription, error) {
		return nil, sessions.Errorf(sessions.CodeSessionNotFound, "No.")
	}})
	_, err := c.Subscribe(t.Context(), api.SubscribeArgs{Address: api.Address{SessionID: "a"}})
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
}
