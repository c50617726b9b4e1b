package sessions

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryTerminalStatusHasItsFrame(t *testing.T) {
	failure := &ErrorInfo{Code: CodeAgentTimeout}
	for status, want := range map[TurnStatus]FrameBody{
		TurnIsCompleted:   Completed{},
		TurnIsCancelled:   Cancelled{},
		TurnIsInterrupted: Interrupted{Error: failure},
		TurnIsFailed:      Failed{Error: failure},
	} {
		require.Equal(t, want, TurnEnd{Status: status, Error: failure}.Frame())
	}
}

func TestAnEndLeadsTheSessionOn(t *testing.T) {
	next, err := TurnEnd{Status: TurnIsFailed}.After(TurnIsRunning, StatusRunning)
	require.NoError(t, err)
	require.Equal(t, StatusFailed, next)

	next, err = TurnEnd{Status: TurnIsInterrupted, Detached: true}.After(TurnIsRunning, StatusRunning)
	require.NoError(t, err)
	require.Equal(t, StatusIdle, next, "a detach frees the session, whatever the turn's end")
}

func TestAnEndThatFollowsFromNothingIsInternal(t *testing.T) {
	for name, try := range map[string]struct {
		end     TurnStatus
		turn    TurnStatus
		session Status
	}{
		"not an end":            {TurnIsWaiting, TurnIsRunning, StatusRunning},
		"the turn has ended":    {TurnIsCompleted, TurnIsCancelled, StatusRunning},
		"the session has moved": {TurnIsCompleted, TurnIsRunning, StatusClosed},
	} {
		_, err := TurnEnd{Status: try.end}.After(try.turn, try.session)
		require.Equal(t, CodeInternal, CodeOf(err), name)
	}
}
