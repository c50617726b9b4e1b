package host_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestSpanOfASideQuestion(t *testing.T) {
	h, spans := tracedHost(t, hosttest.Options{Profiles: map[string]host.Profile{
		sessions.DefaultProfile: {Oracle: scripted.New(scripted.Step{Text: "fine"}, scripted.Step{Text: secret}, scripted.Step{Fail: secret})},
	}})
	_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "hello"}, nil)
	require.NoError(t, err)
	spans.Reset()
	ask := &api.SideQuestionArgs{Address: atK, Question: secret + "?"}
	got, err := h.SideQuestion(t.Context(), ask)
	require.NoError(t, err)
	require.Equal(t, &api.SideQuestionResult{Text: secret, Usage: sessions.Usage{Calls: 1}}, got)
	_, err = h.SideQuestion(t.Context(), ask)
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err))
	all := spans.GetSpans()
	require.Equal(t, "side question default failed\nside question default ok\n", outline(all, trace.SpanID{}, ""))
	for _, s := range all {
		for _, a := range s.Attributes {
			require.NotContains(t, a.Value.String(), secret)
		}
	}
}

// pondering is an oracle that answers the first call and ponders over all others
// until nobody waits any more.
type pondering struct{ begun, ended chan struct{} }

func (pondering) Name() string { return "pondering" }

func (p pondering) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		if len(r.Messages) == 1 {
			yield(oracle.TextDelta{Text: "fine"}, nil)
			return
		}
		p.begun <- struct{}{}
		<-ctx.Done()
		p.ended <- struct{}{}
		yield(nil, ctx.Err())
	}
}

// Nobody could fetch the answer later, so nobody pays for it.
func TestALostConnectionEndsASideQuestion(t *testing.T) {
	o := pondering{make(chan struct{}), make(chan struct{})}
	h := hosttest.New(t, hosttest.Options{Profiles: map[string]host.Profile{sessions.DefaultProfile: {Oracle: o}}})
	_, err := h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "hello"}, nil)
	require.NoError(t, err)
	args := api.SideQuestionArgs{Address: atK, Question: "why?"}
	t.Run("http", func(t *testing.T) {
		ctx, hangUp := context.WithCancel(t.Context())
		lost := make(chan error, 1)
		go func() {
			_, err := h.Client.SideQuestion(ctx, args)
			lost <- err
		}()
		<-o.begun
		hangUp()
		require.ErrorIs(t, <-lost, context.Canceled)
		<-o.ended
	})
	t.Run("websocket", func(t *testing.T) {
		s := h.Socket()
		s.Request(api.OpSideQuestion, args)
		<-o.begun
		s.Cut()
		<-o.ended
	})
	t.Run("not at all", func(t *testing.T) {
		s := h.Socket()
		id := s.Request(api.OpSideQuestion, args)
		<-o.begun
		done, err := h.Client.Cancel(t.Context(), api.CancelArgs{Address: atK, SideQuestion: true})
		require.NoError(t, err)
		require.True(t, done.Cancelled)
		<-o.ended
		_, reply := s.Reply(id)
		require.Equal(t, sessions.CodeCancelled, hosttest.Code(reply))
	})
}
