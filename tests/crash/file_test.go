package crash

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"agenthost/oracle"
	"agenthost/oracle/offline"
	"agenthost/oracle/scripted"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tests/rows"
)

// copied copies a database that no process has, as it was left, and returns the
// copy's path: looking at the original would repair it before the host does.
func copied(t *testing.T, path string) string {
	t.Helper()
	to := within(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		if !exists(path + suffix) {
			continue
		}
		from, err := os.Open(path + suffix)
		require.NoError(t, err)
		into, err := os.Create(to + suffix)
		require.NoError(t, err)
		_, err = io.Copy(into, from)
		require.NoError(t, err)
		require.NoError(t, from.Close())
		require.NoError(t, into.Close())
	}
	return to
}

// opened opens a database that no host of this process has.
func opened(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

const terminalTypes = `('completed', 'failed', 'cancelled', 'interrupted')`

// seen are views in front of the tables, without what belongs to sessions that a
// delete has hidden: of those, any part may be gone.
var seen = []string{
	"CREATE TEMP VIEW sessions AS SELECT * FROM main.sessions WHERE deleted_ms IS NULL",
	"CREATE TEMP VIEW session_messages AS SELECT * FROM main.session_messages WHERE sid IN (SELECT sid FROM sessions)",
	"CREATE TEMP VIEW activity_frames AS SELECT * FROM main.activity_frames WHERE sid IN (SELECT sid FROM sessions)",
	"CREATE TEMP VIEW turns AS SELECT * FROM main.turns WHERE sid IN (SELECT sid FROM sessions)",
	"CREATE TEMP VIEW sub_session_refs AS SELECT * FROM main.sub_session_refs WHERE sid IN (SELECT sid FROM sessions)",
}

// rules are questions whose answer must be empty, whenever the host was killed.
var rules = []struct{ name, query string }{
	{"messages are numbered from 1 without gaps", `SELECT s.id FROM sessions s
        LEFT JOIN session_messages m ON m.sid = s.sid GROUP BY s.sid
        HAVING count(m.seq) <> s.message_count OR coalesce(max(m.seq), 0) <> s.message_count OR coalesce(min(m.seq), 1) <> 1`},
	{"a request has one turn", `SELECT request_id FROM turns GROUP BY request_id HAVING count(*) > 1`},
	{"a turn has its user message", `SELECT turn_id FROM turns t WHERE NOT EXISTS
        (SELECT 1 FROM session_messages m WHERE m.sid = t.sid AND m.seq = t.user_seq)`},
	{"no two turns have the same user message", `SELECT turn_id FROM turns GROUP BY sid, user_seq HAVING count(*) > 1`},
	{"a user message has its turn", `SELECT sid || '/' || seq FROM session_messages m
        WHERE json_extract(CAST(body AS TEXT), '$.role') = 'user' AND json_extract(CAST(body AS TEXT), '$.turnId') IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.sid = m.sid AND t.user_seq = m.seq)`},
	{"a request has its claim", `SELECT request_id FROM turns t WHERE NOT EXISTS
        (SELECT 1 FROM dedupe_claims c WHERE c.request_id = t.request_id AND c.turn_id = t.turn_id)`},
	{"a parent has not gone before its local children", `SELECT c.id FROM sessions c WHERE c.parent_location = 'local'
        AND NOT EXISTS (SELECT 1 FROM sessions p WHERE p.owner = c.owner AND p.id = c.parent_id)`},
	{"a local ref names a session", `SELECT r.child_id FROM sub_session_refs r JOIN sessions p ON p.sid = r.sid WHERE r.location = 'local'
        AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.owner = p.owner AND c.id = r.child_id)`},
	{"a local child is named by a ref", `SELECT c.id FROM sessions c WHERE c.parent_location = 'local' AND NOT EXISTS
        (SELECT 1 FROM sub_session_refs r JOIN sessions p ON p.sid = r.sid WHERE p.id = c.parent_id AND r.child_id = c.id)`},
	{"a session is busy when a turn of it is", `SELECT s.id FROM sessions s
        WHERE (s.active_turn <> '') <> EXISTS (SELECT 1 FROM turns t WHERE t.sid = s.sid AND t.status IN ('running', 'waiting'))`},
}

// frameRules are those of frames that are kept in the database.
var frameRules = []struct{ name, query string }{
	{"frames are numbered from 1 without gaps", `SELECT s.id FROM sessions s
        LEFT JOIN activity_frames f ON f.sid = s.sid GROUP BY s.sid
        HAVING count(f.seq) <> s.frame_count OR coalesce(max(f.seq), 0) <> s.frame_count OR coalesce(min(f.seq), 1) <> 1`},
	{"a turn that has ended has one terminal frame, another has none", `SELECT t.turn_id FROM turns t
        LEFT JOIN (SELECT turn, count(*) AS n FROM activity_frames WHERE type IN ` + terminalTypes + ` GROUP BY turn) f ON f.turn = t.num
        WHERE coalesce(f.n, 0) <> (t.status IN ` + terminalTypes + `)`},
}

// requireSound requires of a database that a kill has left what must hold at
// every moment, and that every request of told has the turn that was told.
func requireSound(t *testing.T, path string, told map[sessions.RequestID]sessions.TurnID) {
	t.Helper()
	db := opened(t, copied(t, path))
	defer db.Close()
	requireSoundly(t, db, told)
}

func requireSoundly(t *testing.T, db *sql.DB, told map[sessions.RequestID]sessions.TurnID) {
	t.Helper()
	db.SetMaxOpenConns(1) // views are of their connection
	for _, view := range seen {
		_, err := db.ExecContext(context.Background(), view)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"ok"}, rows.Column(t, db, "PRAGMA integrity_check"))
	require.Empty(t, rows.Column(t, db, `SELECT "table" FROM pragma_foreign_key_check`))
	for _, rule := range rules {
		require.Empty(t, rows.Column(t, db, rule.query), rule.name)
	}
	if len(rows.Column(t, db, "SELECT 1 FROM activity_frames LIMIT 1")) > 0 {
		for _, rule := range frameRules {
			require.Empty(t, rows.Column(t, db, rule.query), rule.name)
		}
	}
	stored := map[sessions.RequestID]sessions.TurnID{}
	for _, pair := range rows.Column(t, db, "SELECT request_id || ' ' || turn_id FROM turns") {
		request, turn, _ := strings.Cut(pair, " ")
		stored[sessions.RequestID(request)] = sessions.TurnID(turn)
	}
	for request, turn := range told {
		if stored[request] != turn {
			require.Fail(t, "an acknowledged prompt is lost", "request %s was told turn %s, the store has %q", request, turn, stored[request])
		}
	}
}

// requireValidHistories requires of every session of a database that no turn
// holds up, all with nothing running, that its bodies are intact and its history
// is one that a strict model takes. It returns how many turns have each status.
func requireValidHistories(t *testing.T, path string) map[sessions.TurnStatus]int {
	t.Helper()
	store, err := sqlite.Open(t.Context(), copied(t, path), sqlite.Config{})
	require.NoError(t, err)
	defer store.Close()
	ends := map[sessions.TurnStatus]int{}
	for cursor := ""; ; {
		page, err := store.Sessions(t.Context(), sessions.SessionQuery{Owner: sessions.LocalOwner, Limit: 200, Cursor: cursor})
		require.NoError(t, err)
		for _, s := range page.Sessions {
			requireValidHistory(t, store, s)
			countTurns(t, store, s, ends)
		}
		if cursor = page.NextCursor; cursor == "" {
			return ends
		}
	}
}

func requireValidHistory(t *testing.T, store sessions.Store, s sessions.Session) {
	t.Helper()
	all, err := store.Messages(t.Context(), s.Fence.Incarnation, sessions.MessageQuery{})
	require.NoError(t, err, "session %s", s.ID)
	for i, m := range all.Messages {
		require.EqualValues(t, i+1, m.Seq)
	}
	if s.ActiveTurn == nil {
		require.NoError(t, strictly(t.Context(), all.Messages), "session %s", s.ID)
	}
}

// strictly says what a strict model would find wrong with a history.
func strictly(ctx context.Context, messages []sessions.Message) error {
	if err := sessions.CheckPairing("/messages", messages); err != nil {
		return err
	}
	next := sessions.Message{Seq: int64(len(messages) + 1), Role: sessions.RoleUser, Content: sessions.Text("and now?")}
	request := oracle.Request{Messages: append(messages[:len(messages):len(messages)], next)}
	for _, err := range scripted.Strict(offline.New()).Infer(ctx, request) {
		if err != nil {
			return fmt.Errorf("a strict model refuses the history: %w", err)
		}
	}
	return nil
}

func countTurns(t *testing.T, store sessions.Store, s sessions.Session, ends map[sessions.TurnStatus]int) {
	t.Helper()
	for cursor := ""; ; {
		page, err := store.Turns(t.Context(), s.Fence.Incarnation, sessions.TurnQuery{Limit: 200, Cursor: cursor})
		require.NoError(t, err)
		for _, turn := range page.Turns {
			ends[turn.Status]++
		}
		if cursor = page.NextCursor; cursor == "" {
			return
		}
	}
}
