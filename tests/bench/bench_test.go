package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if side := os.Getenv(childVariable); side != "" {
		exit(serveChild(side, os.Stdin, os.Stdout))
	}
	m.Run()
}

func TestEveryScenarioFillsItsRows(t *testing.T) {
	got, err := run(t.Context(), options{dir: t.TempDir(), lap: time.Millisecond, rounds: 1, scale: 100}, io.Discard)
	require.NoError(t, err)
	require.Len(t, got, 97)
	for _, r := range got {
		require.NotEmpty(t, r.hosts, r.what)
		for _, v := range append(r.floors, r.hosts...) {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s: %v", r.what, v)
		}
	}
}

// The ratios mean something only if the floor does the host's writes.
func TestFloorStoresWhatTheHostStores(t *testing.T) {
	const workers, turns = 3, 4
	ctx := t.Context()
	floorFile, hostFile := filepath.Join(t.TempDir(), "floor.db"), filepath.Join(t.TempDir(), "host.db")

	f, err := openFloor(ctx, floorFile)
	require.NoError(t, err)
	all, err := createFloorSessions(f, workers)
	require.NoError(t, err)
	require.NoError(t, together(workers, func(w int) error { return repeat(ctx, w, turns, floorTurns(all)) }))
	require.NoError(t, f.close())

	h, _, err := openHost(ctx, hostFile)
	require.NoError(t, err)
	require.NoError(t, createHostSessions(ctx, h, workers))
	require.NoError(t, together(workers, func(w int) error { return repeat(ctx, w, turns, hostTurns(h)) }))
	h.Stop()

	require.Equal(t, facts(t, hostFile), facts(t, floorFile))
}

// facts says what a database holds, but for ids and times.
func facts(t *testing.T, file string) []string {
	t.Helper()
	db, err := openBare(file)
	require.NoError(t, err)
	defer db.Close()
	var all []string
	for _, query := range []string{
		"SELECT target_key, status, turn_count, message_count, frame_count, preview, input_tokens, output_tokens, calls, active_turn, last_error FROM sessions ORDER BY 1",
		"SELECT request_id, status, iterations, input_tokens, output_tokens, calls, first_frame, last_frame, user_seq, final_seq FROM turns ORDER BY 1",
		"SELECT request_id, appended, expires_ms IS NULL FROM dedupe_claims ORDER BY 1",
		"SELECT s.target_key, f.seq, f.type, f.message_seq, length(f.body) FROM activity_frames f JOIN sessions s USING (sid) ORDER BY 1, 2",
		"SELECT s.target_key, m.seq, length(m.body) FROM session_messages m JOIN sessions s USING (sid) ORDER BY 1, 2",
		"SELECT s.target_key, model, u.input_tokens, u.output_tokens, u.calls FROM usage u JOIN sessions s USING (sid) ORDER BY 1",
		"SELECT owner, model, input_tokens, output_tokens, calls FROM owner_usage ORDER BY 1",
	} {
		rows, err := db.QueryContext(t.Context(), query)
		require.NoError(t, err)
		all = append(all, lines(t, rows)...)
	}
	return all
}

func lines(t *testing.T, rows *sql.Rows) []string {
	t.Helper()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var all []string
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		require.NoError(t, rows.Scan(targets...))
		all = append(all, fmt.Sprint(values...))
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	return all
}

func TestTableShowsMedianRatios(t *testing.T) {
	shown := table{
		{"turns", "8 sessions", "1/s", []float64{100, 200, 400}, []float64{90, 100, 300}, "≥ 0.7"},
		{"memory", "", "KiB", nil, []float64{3.456}, ""},
	}.markdown()
	require.Equal(t, ""+
		"| measure | load       | unit | floor | host | host / floor | rounds from–to | goal  |\n"+
		"|---------|------------|------|-------|------|--------------|----------------|-------|\n"+
		"| turns   | 8 sessions | 1/s  | 200   | 100  | 0.75         | 0.50–0.90      | ≥ 0.7 |\n"+
		"| memory  |            | KiB  | –     | 3.46 | –            | –              |       |\n", shown)
}

func TestRefreshLeavesTheTextAlone(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "doc.md")
	require.NoError(t, os.WriteFile(doc, []byte("before\n"+beginMark+"\nold\n"+endMark+"\nafter\n"), 0o600))
	require.NoError(t, refresh(doc, "facts", table{{"a", "", "ms", nil, []float64{1}, ""}}))
	text, err := os.ReadFile(doc)
	require.NoError(t, err)
	require.Contains(t, string(text), "before\n"+beginMark+"\nfacts\n\n| measure ")
	require.Contains(t, string(text), "|\n"+endMark+"\nafter\n")
	require.NotContains(t, string(text), "old")

	require.NoError(t, os.WriteFile(doc, []byte("no place"), 0o600))
	require.ErrorContains(t, refresh(doc, "facts", nil), "has no place")
}

func TestQuantiles(t *testing.T) {
	all := []time.Duration{1, 2, 3, 4}
	require.Equal(t, time.Duration(3), quantile(all, 0.5))
	require.Equal(t, time.Duration(4), quantile(all, 0.99))
	require.Zero(t, quantile(nil, 0.5))
	require.InDelta(t, 2.5, median([]float64{4, 1, 2, 3}), 0)
}

func TestDriveCountsWhatItTimes(t *testing.T) {
	var calls [3]int
	l, err := drive(t.Context(), 3, 0, ownUsage, countInto(&calls))
	require.NoError(t, err)
	require.Equal(t, 3, l.turns)
	require.Len(t, l.latencies, 3)
	require.Equal(t, [3]int{warmTurns + 1, warmTurns + 1, warmTurns + 1}, calls)
}

func countInto(calls *[3]int) turnFunc {
	return func(_ context.Context, worker, n int) error {
		if n != calls[worker] {
			return fmt.Errorf("turn %d of worker %d comes after %d others", n, worker, calls[worker])
		}
		calls[worker]++
		return nil
	}
}
