package sessions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestLocationIsNeverGuessed(t *testing.T) {
	for location, valid := range map[sessions.Location]bool{
		sessions.Local: true, sessions.Remote: true, "": false, "LOCAL": false, "here": false,
	} {
		require.Equal(t, valid, location.Valid(), "%q", location)
		err := location.Check("/args/parentLocation")
		if valid {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		require.Equal(t, "/args/parentLocation", sessions.AsError(err).Details["field"])
	}
}

func TestRefStatesThatTakeNoMoreWork(t *testing.T) {
	for _, s := range []sessions.RefStatus{sessions.RefFailed, sessions.RefClosed, sessions.RefLost, sessions.RefGone} {
		require.True(t, s.Ended(), s)
	}
	for _, s := range []sessions.RefStatus{sessions.RefRunning, sessions.RefIdle} {
		require.False(t, s.Ended(), s)
	}
}
