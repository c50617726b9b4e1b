package sessions_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestErrorShowsItsCauseToTheLogOnly(t *testing.T) {
	err := sessions.Errorf(sessions.CodeLLMAPIFailure, "The model call failed after %d tries.", 3).Because(io.ErrUnexpectedEOF)
	require.Equal(t, "LLM_API_FAILURE: The model call failed after 3 tries. (unexpected EOF)", err.Error())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	shown, marshalErr := json.Marshal(err.Info())
	require.NoError(t, marshalErr)
	require.JSONEq(t, `{"code":"LLM_API_FAILURE","message":"The model call failed after 3 tries.","retryable":false}`, string(shown))
}

func TestErrorSaysNothingTwice(t *testing.T) {
	inner := sessions.Errorf(sessions.CodeInvalidRequest, "The path /a/ has a slash at its end.").Because(io.EOF)
	for want, err := range map[string]*sessions.Error{
		"CONFLICT: It cannot listen: address in use.": sessions.Errorf(sessions.CodeConflict, "It cannot listen: %s.", "address in use").
			Because(errors.New("address in use")),
		"CONFLICT: The tool cannot be used: The path /a/ has a slash at its end. (EOF)": sessions.Errorf(sessions.CodeConflict,
			"The tool cannot be used: %s", inner.Message).Because(inner),
		"CONFLICT: No. (INVALID_REQUEST: The path /a/ has a slash at its end. (EOF))": sessions.Errorf(sessions.CodeConflict, "No.").Because(inner),
		"CONFLICT: No. (outer: EOF)": sessions.Errorf(sessions.CodeConflict, "No.").Because(fmt.Errorf("outer: %w", io.EOF)),
	} {
		require.Equal(t, want, err.Error())
		require.Error(t, err.Cause, "it stays for those who ask with errors.Is")
	}
}

func TestErrorInfoRoundTrip(t *testing.T) {
	err := sessions.Errorf(sessions.CodeOverloaded, "Full.").With("limit", "busyTurns")
	require.True(t, err.Info().Retryable)
	require.Equal(t, err, err.Info().Err())
	require.Nil(t, (*sessions.Error)(nil).Info())
	require.Nil(t, (*sessions.ErrorInfo)(nil).Err())
}

func TestWithAndBecauseCopy(t *testing.T) {
	base := sessions.Errorf(sessions.CodeConflict, "No.").With("a", 1)
	more := base.With("b", 2).Because(io.EOF)
	require.Equal(t, map[string]any{"a": 1}, base.Details)
	require.NoError(t, base.Cause)
	require.Equal(t, map[string]any{"a": 1, "b": 2}, more.Details)
	require.NotErrorIs(t, base, io.EOF)
}

func TestSentinelsAreFoundInCopies(t *testing.T) {
	wrapped := fmt.Errorf("commit: %w", sessions.ErrFenced.With("turnId", "t").Because(io.EOF))
	require.ErrorIs(t, wrapped, sessions.ErrFenced)
	require.NotErrorIs(t, wrapped, sessions.ErrTurnEnded, "the same code alone is not the same error")
	require.NotErrorIs(t, wrapped, sessions.ErrOutcomeUnknown)
}

func TestAsErrorKeepsRawTextFromClients(t *testing.T) {
	require.Nil(t, sessions.AsError(nil))
	coded := sessions.Errorf(sessions.CodeNotFound, "None.")
	require.Same(t, coded, sessions.AsError(fmt.Errorf("outer: %w", coded)))

	raw := errors.New("dial tcp 10.0.0.1: password=hunter2")
	hidden := sessions.AsError(raw)
	require.Equal(t, sessions.CodeInternal, hidden.Code)
	require.ErrorIs(t, hidden, raw)
	require.NotContains(t, fmt.Sprint(hidden.Info().Message, hidden.Info().Details), "hunter2")
}

func TestCodeOf(t *testing.T) {
	require.Empty(t, sessions.CodeOf(nil))
	require.Equal(t, sessions.CodeInternal, sessions.CodeOf(io.EOF))
	require.Equal(t, sessions.CodeConflict, sessions.CodeOf(fmt.Errorf("x: %w", sessions.ErrFenced)))
}

func TestErrorsAboutFieldsAndLimits(t *testing.T) {
	field := sessions.InvalidField("/args/limit", "At most %d.", 9)
	require.Equal(t, sessions.CodeInvalidRequest, field.Code)
	require.Equal(t, "At most 9.", field.Message)
	require.Equal(t, map[string]any{"field": "/args/limit"}, field.Details)
	large := sessions.TooLarge("messageBytes", 1<<20, "Too long.")
	require.Equal(t, sessions.CodePayloadTooLarge, large.Code)
	require.Equal(t, map[string]any{"limit": "messageBytes", "max": int64(1 << 20)}, large.Details)
}
