package sessions_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestCodeListIsClosed(t *testing.T) {
	var listed []string
	for _, row := range sessions.Codes() {
		listed = append(listed, string(row.Code))
	}
	slices.Sort(listed)
	require.Equal(t, slices.Sorted(maps.Values(constantsOf(t, "codes.go", "Code"))), listed,
		"every code constant has exactly one row")
}

func TestCodeRowsAreWhole(t *testing.T) {
	name := regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`)
	for _, row := range sessions.Codes() {
		require.Regexp(t, name, string(row.Code))
		require.Regexp(t, `^[A-Z].*\.$`, row.Meaning, row.Code)
		if row.Code != sessions.CodeCancelled {
			require.NotEmpty(t, http.StatusText(row.HTTPStatus), row.Code)
		}
		require.GreaterOrEqual(t, row.HTTPStatus, 400, row.Code)
		require.Equal(t, row, row.Code.Info())
	}
}

func TestRetryableCodes(t *testing.T) {
	// The same request id may succeed later only where nothing was consumed.
	want := []sessions.Code{sessions.CodeAgentBusy, sessions.CodeOverloaded, sessions.CodeHostStopping, sessions.CodeStoreUnavailable}
	var got []sessions.Code
	for _, row := range sessions.Codes() {
		if row.Retryable {
			got = append(got, row.Code)
		}
	}
	require.ElementsMatch(t, want, got)
}

func TestUnknownCodeHasTheRowOfInternal(t *testing.T) {
	require.Equal(t, sessions.CodeInternal.Info(), sessions.Code("NO_SUCH_CODE").Info())
	require.Equal(t, 500, sessions.Code("").Info().HTTPStatus)
}

func TestCodesReturnsACopy(t *testing.T) {
	sessions.Codes()[0].Meaning = "changed"
	require.NotEqual(t, "changed", sessions.Codes()[0].Meaning)
}
