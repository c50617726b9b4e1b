package crash

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tests/rows"
)

// clears is a campaign that kills a host while it deletes all sessions.
type clears struct {
	*campaign
	choose *rand.Rand
	spread time.Duration
	tally  map[string]int
	others []string // what another owner has

	settled []sessions.SessionID // were there, whole, before the clear that was not answered
	turns   []*crowdPrompt       // and turns that were
	crowd   *crowd               // of the round
	reply   api.SessionClearAllResult
	told    bool // the clear was answered
}

// TestCampaignOfClears kills a serving host again and again while all sessions are
// cleared and prompts come all the while. The clear has happened wholly or not at
// all, as its caller and those of prompts were told, and what is prompted later is
// fresh and stays. Beside another owner's sessions a clear goes another way.
func TestCampaignOfClears(t *testing.T) {
	for _, frames := range []string{"record", "file"} {
		for _, others := range []string{"alone", "beside another owner"} {
			t.Run(frames+" "+others, func(t *testing.T) {
				seed := seedOf(t)
				c := &clears{campaign: newCampaign(t, "frames: "+frames, "dedupTTL: 24h"), choose: rand.New(rand.NewPCG(seed, 0)),
					spread: 40 * time.Millisecond, tally: map[string]int{}}
				if others != "alone" {
					seedOther(t, c.file())
					c.others = ofOther(t, c.file())
					require.NotEmpty(t, c.others)
				}
				c.run((*removals + 1) / 2)
			})
		}
	}
}

const (
	other       = sessions.Owner("other")
	settledEach = 12 // sessions made in each round before its clear
	talkers     = 6
)

// seedOther gives another owner a session, before any host has the file.
func seedOther(t *testing.T, path string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	require.NoError(t, err)
	messages := make([]sessions.Message, 40)
	for i := range messages {
		messages[i] = sessions.Message{Role: []sessions.Role{sessions.RoleUser, sessions.RoleAssistant}[i%2], Content: sessions.Text(fmt.Sprint("mine ", i))}
	}
	_, err = store.SeedSession(t.Context(), sessions.SeedSession{Owner: other, At: sessions.Address{ID: "theirs"}, Profile: sessions.DefaultProfile,
		Messages: messages, Now: sessions.Time(time.Now().UnixMilli())})
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

// ofOther is what another owner has.
func ofOther(t *testing.T, path string) []string {
	t.Helper()
	db := opened(t, copied(t, path))
	defer db.Close()
	return append(rows.Column(t, db, "SELECT sid || ' ' || id || ' ' || epoch || ' ' || status FROM sessions WHERE owner = ? AND deleted_ms IS NULL", other),
		rows.Column(t, db, "SELECT m.seq || ' ' || hex(m.body) FROM session_messages m JOIN sessions s USING (sid) WHERE s.owner = ? ORDER BY m.seq", other)...)
}

func (c *clears) run(rounds int) {
	t := c.t
	c.start()
	w := wireTo(t, c.host.url)
	for n := range rounds {
		c.killInClear(t.Context(), w, n)
		cleared := c.judge()
		if n%fullCheckEvery == 0 {
			requireValidHistories(t, c.file())
		}
		c.start()
		c.requireAnswers(w, cleared)
	}
	c.host.stop(t)
	requireSound(t, c.file(), nil)
	t.Logf("clears: %v", c.tally)
}

// killInClear makes sessions, clears all, and kills the host at some moment of that.
func (c *clears) killInClear(ctx context.Context, w *wire, round int) {
	t := c.t
	c.crowd, c.told, c.reply = &crowd{}, false, api.SessionClearAllResult{}
	var calls sync.WaitGroup
	for client := range talkers {
		calls.Go(func() { c.crowd.talk(ctx, w, round, client) })
	}
	for n := range settledEach {
		id := sessions.SessionID(fmt.Sprintf("fam-c%d-%d-x", round, n))
		at := api.Address{SessionID: id}
		fetch[api.SessionSeedResult](t, w, api.OpSessionSeed, api.SessionSeedArgs{Address: at, Messages: transcript(id)})
		fetch[api.PromptResult](t, w, api.OpPrompt, api.PromptArgs{Address: at, Text: "plain " + string(id)})
		c.settled = append(c.settled, id)
	}
	c.crowd.phase.Store(int32(duringClear))
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		reply, err := w.send(ctx, api.OpSessionClearAll, api.SessionClearAllArgs{}, nil)
		switch {
		case err != nil: // the kill was faster
		case reply.OK && json.Unmarshal(reply.Result, &c.reply) == nil:
			c.told = true
			c.crowd.phase.Store(int32(afterClear))
		default:
			c.crowd.fault("the clear failed: %s, %v", reply.Result, reply.Err())
		}
	}()
	c.killAfter(soon(c.choose, c.spread))
	<-answered
	calls.Wait()
	if c.told {
		c.spread -= c.spread / 4
	} else {
		c.spread += c.spread / 4
	}
}

// judge looks at what the kill has left, and returns whether all is cleared.
func (c *clears) judge() bool {
	t := c.t
	require.Empty(t, c.crowd.faults)
	db := opened(t, copied(t, c.file()))
	defer db.Close()
	now := takeCensus(t, db)
	cleared := c.judgeSessions(now)
	c.judgeTurns(db, cleared)
	require.Empty(t, rows.Column(t, db, `SELECT s.id FROM sessions s JOIN owners o ON o.owner = s.owner
        WHERE s.deleted_ms IS NULL AND s.sid <= o.cleared_sid`), "nothing from before the clear comes back")
	requireSoundly(t, db, nil)
	require.Equal(t, now.living, requireSwept(t, c.file()).living, "a sweep takes nothing away that can be seen")
	if c.others != nil {
		require.Equal(t, c.others, ofOther(t, c.file()), "another owner's are as they were")
	}
	return cleared
}

// judgeSessions requires that all sessions that were there are there, or none.
func (c *clears) judgeSessions(now census) (cleared bool) {
	t := c.t
	var there, half []sessions.SessionID
	for _, id := range c.settled {
		if _, ok := now.living[id]; ok {
			there = append(there, id)
		}
		if _, ok := now.hidden[id]; ok {
			half = append(half, id)
		}
	}
	if len(there) > 0 {
		require.Len(t, there, len(c.settled), "some of the sessions are cleared")
		require.False(t, c.told || c.crowd.someoneLost(), "a client was told that all is cleared")
		c.tally["not begun"]++
		return false
	}
	if c.told && c.reply.Receipt.Complete {
		for _, id := range c.settled {
			require.Empty(t, now.named[id], "all is removed, a client was told")
		}
	}
	if c.told && c.reply.Receipt.Compacted {
		c.requireNoBytes()
	}
	c.tally[fmt.Sprintf("cleared, rows left: %t, a client knows: %t", len(half) > 0, c.told)]++
	return true
}

// requireNoBytes requires that what was compacted away is in no byte of the files.
func (c *clears) requireNoBytes() {
	c.t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(c.file() + suffix)
		require.NoError(c.t, err)
		for _, id := range c.settled {
			require.False(c.t, bytes.Contains(data, []byte(id)), "a.db%s still has %s", suffix, id)
		}
	}
}

// judgeTurns requires that turns from before share the sessions' fate, and that
// those from after are there.
func (c *clears) judgeTurns(db *sql.DB, cleared bool) {
	t := c.t
	stored := map[string]bool{}
	for _, turn := range rows.Column(t, db, "SELECT turn_id FROM turns JOIN sessions USING (sid) WHERE deleted_ms IS NULL") {
		stored[turn] = true
	}
	for _, p := range c.crowd.prompts {
		switch {
		case p.isSettled():
			c.turns = append(c.turns, p)
		case p.isFresh():
			require.True(t, stored[string(p.turn)], "prompt %s came after the clear and is lost", p.args.RequestID)
		}
	}
	for _, p := range c.turns {
		require.Equal(t, !cleared, stored[string(p.turn)], "prompt %s came before the clear", p.args.RequestID)
	}
}

// requireAnswers requires that the host, started again, says what its file says.
func (c *clears) requireAnswers(w *wire, cleared bool) {
	t := c.t
	for _, id := range c.settled {
		reply, err := w.send(waiting(t), api.OpSessionGet, api.SessionGetArgs{Address: api.Address{SessionID: id}}, nil)
		require.NoError(t, err)
		require.Equal(t, cleared, codeOf(reply) == sessions.CodeSessionNotFound, "session %s: %v", id, reply.Err())
	}
	for _, p := range c.turns[max(0, len(c.turns)-20):] {
		result, err := ask[api.PromptResult](waiting(t), w, api.OpPrompt, p.args)
		if cleared {
			require.Equal(t, sessions.CodeSessionDeleted, sessions.CodeOf(err), "%v", err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, p.turn, result.TurnID)
	}
	require.Eventually(t, func() bool { // what the kill has cut is taken up, and ends
		list := fetch[api.SessionListResult](t, w, api.OpSessionList, api.SessionListArgs{Status: api.OneOrMany[sessions.Status]{sessions.StatusRunning}})
		return len(list.Sessions) == 0
	}, patience, 5*time.Millisecond)
	if cleared {
		c.settled, c.turns = nil, nil
	}
}
