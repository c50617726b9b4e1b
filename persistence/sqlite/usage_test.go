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
		"day=100;model=m;kind=;input_tokens=20;output_tokens=4;cached_tokens=2;calls=2;",
		"day=100;model=other;kind=;input_tokens=10;output_tokens=2;cached_tokens=1;calls=1;",
		"day=101;model=m;kind=;input_tokens=10;output_tokens=2;cached_tokens=1;calls=1;",
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

func TestUsageOfAnOlderVersionIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	require.NoError(t, sqlite.MakeOlder(t.Context(), path, []string{"00001_sessions.sql", "00002_trees.sql", "00003_inference.sql"},
		`INSERT INTO owners (owner) VALUES ('local')`,
		`INSERT INTO sessions (sid, owner, generation, id, target_key, profile_key, epoch, status, title, labels,
            parent_id, parent_location, created_ms, last_active_ms)
        VALUES (1, 'local', 1, 'a', '', 'p', 1, 'idle', '', '{}', '', '', 1, 1)`,
		`INSERT INTO usage VALUES (1, 100, 'm', 10, 2, 1, 1)`,
		`INSERT INTO owner_usage VALUES ('local', 100, 'm', 20, 4, 2, 2)`))
	s := open(t, path, sqlite.Config{})
	for by, u := range map[sessions.UsageScope]sessions.Usage{
		sessions.UsageBySession: {InputTokens: 10, OutputTokens: 2, CachedTokens: 1, Calls: 1},
		sessions.UsageByOwner:   {InputTokens: 20, OutputTokens: 4, CachedTokens: 2, Calls: 2},
	} {
		sums, err := s.Usage(t.Context(), sessions.UsageQuery{By: by, Owner: sessions.LocalOwner, Life: 1})
		require.NoError(t, err)
		require.Equal(t, []sessions.UsageSum{{Day: 100, Model: "m", Usage: u}}, sums)
	}
}
