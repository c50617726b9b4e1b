package provider_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/provider"
	"agenthost/sessions"
)

// play makes one call whose attempts are given in their order; more of them
// fail the test. most bounds the parts that the listener takes, 0 for all.
func play(t *testing.T, c provider.Caller, most int, attempts ...provider.Attempt) (parts []oracle.Part, err error) {
	t.Helper()
	c.Infer(t.Context(), nil, func(part oracle.Part, failed error) bool {
		if err = failed; err == nil {
			parts = append(parts, part)
		}
		return len(parts) != most
	}, func(ctx context.Context, a *provider.Answer) error {
		require.NotEmpty(t, attempts, "one attempt too many")
		attempt := attempts[0]
		attempts = attempts[1:]
		return attempt(ctx, a)
	})
	require.Empty(t, attempts, "attempts that were not made")
	return parts, err
}

func says(text string, err error) provider.Attempt {
	return func(_ context.Context, a *provider.Answer) error {
		a.Say(text)
		return err
	}
}

var (
	quick     = provider.Caller{Key: "secret", RetryPause: time.Nanosecond}
	errBroken = errors.New("broken by secret")
)

func TestAttemptsAreRepeatedUntilTheFirstPart(t *testing.T) {
	parts, err := play(t, quick, 0, says("", errBroken), says("", nil), says("", errBroken), says("fine", nil))
	require.NoError(t, err)
	require.Equal(t, []oracle.Part{oracle.TextDelta{Text: "fine"}, oracle.Stop{Reason: oracle.StopDone}}, parts)

	parts, err = play(t, quick, 0, says("half", errBroken))
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err))
	require.ErrorContains(t, sessions.AsError(err).Cause, "broken by [key]")
	require.Equal(t, []oracle.Part{oracle.TextDelta{Text: "half"}}, parts)

	_, err = play(t, quick, 0, says("", errBroken), says("", errBroken), says("", errBroken), says("", errBroken))
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err))
	_, err = play(t, provider.Caller{MaxRetries: -1}, 0, says("", errBroken))
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err))
	_, err = play(t, quick, 0, says("", nil), says("", nil)) // an empty answer once only
	require.ErrorContains(t, sessions.AsError(err).Cause, "empty")
}

func TestAListenerThatLeavesEndsTheCall(t *testing.T) {
	parts, err := play(t, quick, 1, func(_ context.Context, a *provider.Answer) error {
		a.Say("one")
		require.True(t, a.Left())
		a.Say("two")
		return errBroken
	})
	require.NoError(t, err)
	require.Equal(t, []oracle.Part{oracle.TextDelta{Text: "one"}}, parts)
}

func TestTheReasonOfAnAnswerFollowsFromWhatIsInIt(t *testing.T) {
	call := func(a *provider.Answer) { a.NewCall(0).Add("x", "{}") }
	for name, c := range map[string]struct {
		answer func(a *provider.Answer)
		want   oracle.StopReason
	}{
		"calls":        {call, oracle.StopCalls},
		"refused":      {func(a *provider.Answer) { a.Refused = true }, oracle.StopRefusal},
		"cut":          {func(a *provider.Answer) { a.Cut = true }, oracle.StopLength},
		"cut calls":    {func(a *provider.Answer) { call(a); a.Cut = true }, oracle.StopLength},
		"cut, refused": {func(a *provider.Answer) { a.Cut, a.Refused = true, true }, oracle.StopRefusal},
	} {
		parts, err := play(t, quick, 0, func(_ context.Context, a *provider.Answer) error {
			c.answer(a)
			return nil
		})
		require.NoError(t, err, name)
		require.Equal(t, oracle.Stop{Reason: c.want}, parts[len(parts)-1], name)
	}
}

func TestCallsAreBounded(t *testing.T) {
	_, err := play(t, quick, 0, func(_ context.Context, a *provider.Answer) error {
		call := a.NewCall(0)
		for range 16 {
			require.NoError(t, a.Err())
			call.Add("", strings.Repeat("z", 1<<20))
		}
		return a.Err()
	})
	require.ErrorContains(t, sessions.AsError(err).Cause, "bytes")
}

func TestTheContextEndsThePauseBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var got error
		provider.Caller{RetryPause: time.Hour}.Infer(ctx, nil, func(_ oracle.Part, err error) bool {
			got = err
			return true
		}, says("", errBroken))
		require.ErrorIs(t, got, context.DeadlineExceeded)
	})
}
