package sessions

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNegativeLimitsAreRefused(t *testing.T) {
	require.NoError(t, Limits{}.Check())
	require.NoError(t, DefaultLimits().Check())
	err := AsError(Limits{Labels: 3, BusyTurns: -1}.Check())
	require.Equal(t, CodeInvalidRequest, err.Code)
	require.Equal(t, "busyTurns", err.Details["limit"])
	require.Equal(t, "/limits/busyTurns", err.Details["field"])
	require.Equal(t, CodeInvalidRequest, CodeOf(Limits{StateBytes: -1}.Check()))
}
