package client_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/host/server"
	"agenthost/sessions"
)

// However much a host sends, a client holds no more of it than it was told to.
func TestAnswersAreReadUpToALimit(t *testing.T) {
	const most = 4_096
	text := ""
	listener := listen(t)
	serve(t, &service{do: func(_ context.Context, _ api.Caller, args any, emit emitFunc) (any, error) {
		if _, prompts := args.(*api.PromptArgs); prompts {
			if err := emit(frame(1, sessions.Delta{Text: text})); err != nil {
				return nil, err
			}
			return &api.PromptResult{}, nil
		}
		return &api.SessionGetResult{Session: sessions.Session{Title: text}}, nil
	}}, server.Config{}, listener)
	c := dialTo(t, listener.Addr().String(), client.Config{AnswerBytes: most})
	get := func() error {
		_, err := c.SessionGet(t.Context(), api.SessionGetArgs{Address: api.Address{SessionID: "s"}})
		return err
	}
	prompt := func() error {
		_, err := c.Prompt(t.Context(), api.PromptArgs{Address: api.Address{SessionID: "s"}, Text: "go"}, func(sessions.Frame) error { return nil })
		return err
	}
	for name, ask := range map[string]func() error{"answer": get, "message of a stream": prompt} {
		t.Run(name, func(t *testing.T) {
			text = strings.Repeat("x", most/2)
			require.NoError(t, ask())
			text = strings.Repeat("x", most)
			err := ask()
			require.Equal(t, sessions.CodePayloadTooLarge, sessions.CodeOf(err), "%v", err)
			require.EqualValues(t, most, sessions.AsError(err).Details["max"])
			require.NotErrorIs(t, err, client.ErrUnreachable)
		})
	}
}
