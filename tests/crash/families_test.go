package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
	"agenthost/tests/rows"
)

// families is a campaign that kills a host while it deletes trees of sessions.
type families struct {
	*campaign
	choose *rand.Rand
	left   []*family // those that are still there, with a delete that was not answered
	over   []*family // those that are gone
	spread time.Duration
	tally  map[string]int
}

// TestCampaignOfDeletes kills a serving host again and again while trees of
// sessions are deleted, with their turns under way and children being made. What
// is left must be the whole of a tree or nothing of it, as its callers were told,
// and sessions beside it must not notice.
func TestCampaignOfDeletes(t *testing.T) {
	for _, frames := range []string{"record", "file"} {
		t.Run(frames, func(t *testing.T) {
			seed := seedOf(t)
			c := &families{campaign: newCampaign(t, "frames: "+frames, "dedupTTL: 24h"), choose: rand.New(rand.NewPCG(seed, 0)),
				spread: 80 * time.Millisecond, tally: map[string]int{}}
			c.run(*removals, seed)
		})
	}
}

const (
	familiesARound = 3
	bystanders     = 4
	keepOver       = 12 // of how many families that are gone it is checked that they stay so
)

func (c *families) run(rounds int, seed uint64) {
	t := c.t
	c.start()
	w := wireTo(t, c.host.url)
	for n := range watchedSessions {
		fetch[api.SessionCreateResult](t, w, api.OpSessionCreate, api.SessionCreateArgs{Address: api.Address{SessionID: watched(n)}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	working, stop := c.work(ctx, bystanders, seed)
	for n := range rounds {
		if n%calmEvery == calmEvery-1 {
			c.awaitAll(c.ledger.unfinished())
		}
		c.killInDeletes(ctx, w, n)
		c.judge(n)
		c.round.Add(1)
		c.start()
		c.requireAnswers(w)
	}
	stop()
	c.awaitAnswers(working)
	c.requireNoFaults()
	c.requireFinished()
	c.host.stop(t)
	requireNothingBut(t, c.file())
	requireSound(t, c.file(), c.told())
	requireValidHistories(t, c.file())
	t.Logf("families: %v", c.tally)
}

// killInDeletes makes families, deletes them all at once, and kills the host at
// some moment of that.
func (c *families) killInDeletes(ctx context.Context, w *wire, round int) {
	made := make(chan error, familiesARound)
	for n := range familiesARound {
		f := newFamily(fmt.Sprintf("%d-%d", round, n), c.choose)
		c.left = append(c.left, f)
		go func() { made <- f.make(ctx, w) }()
	}
	for range familiesARound {
		require.NoError(c.t, <-made)
	}
	var calls sync.WaitGroup
	for _, f := range c.left {
		f.occupy(ctx, c.t, w, round, &calls)
	}
	var answered sync.WaitGroup
	for _, f := range c.left {
		calls.Go(func() { f.bear(ctx, w) })
		answered.Go(func() { f.end(ctx, w) })
	}
	c.killAfter(soon(c.choose, c.spread))
	answered.Wait()
	calls.Wait()
	c.aim()
}

// soon is a time up to a limit, early ones more often: the first transaction of a
// removal is short, and what follows is long.
func soon(choose *rand.Rand, limit time.Duration) time.Duration {
	f := choose.Float64()
	return time.Duration(f * f * float64(limit))
}

// aim moves the time of the next kills to where deletes are under way.
func (c *families) aim() {
	answered := 0
	for _, f := range c.left {
		if f.answered {
			answered++
		}
	}
	switch answered {
	case 0:
		c.spread += c.spread / 4
	case len(c.left):
		c.spread -= c.spread / 4
	}
}

// told is what must be in the file: the turns of the sessions beside, and those
// of families that are there.
func (c *families) told() map[sessions.RequestID]sessions.TurnID {
	told := c.ledger.told()
	for _, f := range slices.Concat(c.left, c.over) {
		for id, r := range f.running {
			if r.turn != "" && !f.hasLost(r.prompt.SessionID) {
				told[id] = r.turn
			}
		}
	}
	return told
}

// judge looks at what the kill has left.
func (c *families) judge(round int) {
	t := c.t
	db := opened(t, copied(t, c.file()))
	defer db.Close()
	now := takeCensus(t, db)
	for _, f := range c.left {
		c.tally[f.judge(t, now)]++
	}
	for _, f := range c.over {
		f.judge(t, now)
	}
	requireSoundly(t, db, c.told())
	swept := requireSwept(t, c.file())
	require.Equal(t, now.living, swept.living, "a sweep takes nothing away that can be seen")
	if round%fullCheckEvery == 0 {
		requireValidHistories(t, c.file())
	}
	c.requireNoFaults()
	isGone := func(f *family) bool { return f.gone }
	for _, f := range c.left {
		if f.gone {
			c.over = append(c.over, f)
		}
	}
	c.left = slices.DeleteFunc(c.left, isGone)
	c.over = c.over[max(0, len(c.over)-keepOver):]
}

// requireAnswers requires that the host, started again, says of each family what
// its file says, and that turns of those that are there come to their ends.
func (c *families) requireAnswers(w *wire) {
	t := c.t
	for _, f := range c.over {
		for _, m := range f.members {
			if m.doomed {
				require.Equal(t, sessions.CodeSessionNotFound, refused(t, w, api.OpSessionGet, api.SessionGetArgs{Address: api.Address{SessionID: m.id}}).Code)
			}
		}
	}
	ctx := waiting(t)
	var all sync.WaitGroup
	for _, f := range slices.Concat(c.left, c.over) {
		for _, r := range f.running {
			all.Go(func() { f.repeat(ctx, w, r) })
		}
	}
	all.Wait()
	for _, f := range slices.Concat(c.left, c.over) {
		require.Empty(t, f.faults)
		clear(f.running)
	}
}

// requireFinished waits until the host has removed what is gone: rows and frames.
func (c *families) requireFinished() {
	t := c.t
	db := opened(t, c.file())
	defer db.Close()
	hidden := func() bool {
		return len(rows.Column(t, db, "SELECT sid FROM sessions WHERE deleted_ms IS NOT NULL")) > 0
	}
	gone := func(life int64) bool {
		return len(rows.Column(t, db, "SELECT sid FROM sessions WHERE sid = ?", life)) == 0
	}
	require.Eventually(t, func() bool { return !hidden() && !slices.ContainsFunc(frameLives(t, c.file()), gone) },
		patience, 5*time.Millisecond, "the host leaves something of what is gone")
}
