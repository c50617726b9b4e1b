package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

func TestUsageAddsUpByDayAndModelAndTheOwnersStays(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{})
	const day = 24 * 60 * 60 * 1000
	spend := func(request, model string, now sessions.Time) {
		t.Helper()
		a, err := s.AcceptTurn(t.Context(), prompt("a", request))
		require.NoError(t, err)
		c := answer(a, "reply")
		c.Usage, c.Model, c.Now = sessions.Usage{InputTokens: 10, OutputTokens: 2, CachedTokens: 1, Calls: 1}, model, now
		_, err = s.CommitTurn(t.Context(), c)
		require.NoError(t, err)
	}
	spend("1", "m", 100*day)
	spend("2", "m", 101*day-1)
	spend("3", "other", 100*day)
	spend("4", "m", 101*day)

	totals := []string{
		"day=100;model=m;input_tokens=20;output_tokens=4;cached_tokens=2;calls=2;",
		"day=100;model=other;input_tokens=10;output_tokens=2;cached_tokens=1;calls=1;",
		"day=101;model=m;input_tokens=10;output_tokens=2;cached_tokens=1;calls=1;",
	}
	var ofSession, ofOwner []string
	for _, total := range totals {
		ofSession, ofOwner = append(ofSession, "sid=1;"+total), append(ofOwner, "owner=local;"+total)
	}
	rows, err := s.Rows(t.Context())
	require.NoError(t, err)
	require.Equal(t, ofSession, rows["usage"])
	require.Equal(t, ofOwner, rows["owner_usage"])

	_, err = s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("a", "a").At}, nil)
	require.NoError(t, err)
	rows, err = s.Rows(t.Context())
	require.NoError(t, err)
	require.Empty(t, rows["usage"])
	require.Equal(t, ofOwner, rows["owner_usage"])
}
