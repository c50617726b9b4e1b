package crash

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

const (
	// fullCheckEvery is after how many rounds every body is read, not only counted.
	fullCheckEvery = 10
	// groupRounds is for how many rounds a set of sessions is used.
	groupRounds = 5
	// calmEvery is after how many rounds the host lives until all that was asked
	// for before has been answered: a turn that is cut in each of its tries ends,
	// rightly, without an answer.
	calmEvery = 3
)

// campaign is one series of kills.
type campaign struct {
	t      *testing.T
	folder string
	args   []string
	host   *process

	ledger    *ledger
	followers []*follower
	round     atomic.Int64
}

// TestCampaign kills a serving host again and again, at random moments, while
// clients prompt it and repeat what was not answered. What a client was told
// must be in the file after each kill, and in the end every request must have
// been answered, once, with the answer it should have.
func TestCampaign(t *testing.T) {
	for _, frames := range []string{"record", "file"} {
		t.Run(frames, func(t *testing.T) {
			c := newCampaign(t, "frames: "+frames, "dedupTTL: 24h") // no claim expires, however long it takes
			c.run(*rounds, *clients, seedOf(t))
		})
	}
}

// seedOf is the seed to use, which the log names.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d; -seed %d makes the clients choose the same again", s, s)
	return s
}

func newCampaign(t *testing.T, settings ...string) *campaign {
	t.Helper()
	c := &campaign{t: t, folder: t.TempDir(), ledger: &ledger{}}
	c.args = append(writeScript(t, c.folder, script(), settings...), "--listen", freeAddress(t))
	return c
}

func (c *campaign) file() string { return within(c.folder, "a.db") }

func (c *campaign) start() { c.host = serve(c.t, c.folder, c.args...) }

func (c *campaign) run(rounds, clients int, seed uint64) {
	t := c.t
	c.start()
	w := wireTo(t, c.host.url)
	for n := range watchedSessions {
		fetch[api.SessionCreateResult](t, w, api.OpSessionCreate, api.SessionCreateArgs{Address: api.Address{SessionID: watched(n)}})
		c.followers = append(c.followers, &follower{session: watched(n), terminals: map[sessions.TurnID]int{}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	following := c.follow(ctx)
	working, stop := c.work(ctx, clients, seed)
	schedule := rand.New(rand.NewPCG(seed, 0))
	for n := range rounds {
		if n%calmEvery == calmEvery-1 {
			c.awaitAll(c.ledger.unfinished())
		}
		c.killAfter(time.Duration(200+schedule.IntN(900)) * time.Millisecond)
		requireSound(t, c.file(), c.ledger.told())
		if n%fullCheckEvery == 0 {
			requireValidHistories(t, c.file())
		}
		c.requireNoFaults()
		c.round.Add(1)
		c.start()
	}
	stop()
	c.awaitAnswers(working)
	c.requireCaughtUp(w)
	cancel()
	following.Wait()
	c.requireNoFaults()
	c.host.stop(t)
	c.requireWhole()
}

// follow starts the followers.
func (c *campaign) follow(ctx context.Context) *sync.WaitGroup {
	var all sync.WaitGroup
	url := c.host.url
	for _, f := range c.followers {
		all.Go(func() { f.follow(ctx, url) })
	}
	return &all
}

// work starts the clients. stop lets each end with the request it has begun.
func (c *campaign) work(ctx context.Context, clients int, seed uint64) (working chan struct{}, stop func()) {
	stopped, working := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for n := range clients {
		w := &worker{
			number: n, rand: rand.New(rand.NewPCG(seed, uint64(n)+1)), wire: newWire(c.host.url), ledger: c.ledger,
			groups: func() int { return int(c.round.Load() / groupRounds) },
		}
		all.Go(func() {
			defer w.wire.http.CloseIdleConnections()
			w.run(ctx, stopped)
		})
	}
	go func() {
		all.Wait()
		close(working)
	}()
	return working, sync.OnceFunc(func() { close(stopped) })
}

// killAfter kills the host once it has served for a while. That is no wait for
// a fact: the moment is what the campaign varies.
func (c *campaign) killAfter(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.host.exited:
		require.Fail(c.t, "the host has ended by itself", "%v\n%s", c.host.err, c.host.output)
	}
	c.host.kill()
}

func (c *campaign) awaitAnswers(working <-chan struct{}) {
	c.t.Helper()
	select {
	case <-working:
	case <-time.After(patience):
		require.Fail(c.t, "requests stay without an answer", "%d of them\n%s", len(c.ledger.unfinished()), c.host.output)
	}
	require.Empty(c.t, c.ledger.unfinished())
}

// awaitAll waits until requests have their answers.
func (c *campaign) awaitAll(requests []*request) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		return !slices.ContainsFunc(requests, func(r *request) bool { return !r.isDone() })
	}, patience, 5*time.Millisecond, "requests stay without an answer")
}

// requireCaughtUp requires that the followers come to the last frame.
func (c *campaign) requireCaughtUp(w *wire) {
	c.t.Helper()
	for _, f := range c.followers {
		page := fetch[api.FramesResult](c.t, w, api.OpFrames, api.FramesArgs{
			Address: api.Address{SessionID: f.session}, Order: api.Descending, Limit: new(1)})
		if len(page.Frames) == 0 {
			continue
		}
		last := page.Frames[0].Seq
		require.Eventually(c.t, func() bool { return f.has(last) }, patience, 5*time.Millisecond, "a follower does not come to frame %d", last)
	}
}

func (c *campaign) requireNoFaults() {
	c.t.Helper()
	require.Empty(c.t, c.ledger.faults())
	for _, f := range c.followers {
		f.mu.Lock()
		require.Empty(c.t, f.faults)
		f.mu.Unlock()
	}
}

// requireWhole looks at what is there in the end: of the file, and of the
// ledger, each request against what a host says that has started once more.
func (c *campaign) requireWhole() {
	t := c.t
	requireSound(t, c.file(), c.ledger.told())
	ends := requireValidHistories(t, c.file())
	requests := c.ledger.all()
	sent, repeated := 0, 0
	for _, r := range requests {
		sent += r.sent
		if r.sent > 1 {
			repeated++
		}
	}
	t.Logf("%d requests, %d of them repeated, sent %d times in all; turns: %v", len(requests), repeated, sent, ends)
	require.Equal(t, len(requests), ends[sessions.TurnIsCompleted]+ends[sessions.TurnIsFailed])
	require.Len(t, ends, 2, "every turn is repeatable, so none is interrupted")

	c.start()
	w := wireTo(t, c.host.url)
	users := map[api.Address]map[string]int{}
	for _, r := range requests {
		if users[r.at] == nil {
			users[r.at] = requireAddress(t, w, r.at)
		}
		require.Equal(t, 1, users[r.at][r.text], "request %s is in its session", r.id)
		turn := fetch[api.TurnResult](t, w, api.OpTurn, api.TurnArgs{Address: r.at, RequestID: r.id}).Turn
		require.Equal(t, r.turn, turn.TurnID)
		require.True(t, turn.Status.Terminal())
	}
	c.host.stop(t)
}

// requireAddress requires that messages and frames of a session are numbered
// without gaps, that its turns have one terminal frame each, and returns how
// often each prompt is in it.
func requireAddress(t *testing.T, w *wire, at api.Address) map[string]int {
	t.Helper()
	users := map[string]int{}
	all := history(t, w, at)
	for i, m := range all {
		require.EqualValues(t, i+1, m.Seq)
		if m.Role == sessions.RoleUser {
			users[sessions.TextOf(m.Content)]++
		}
	}
	require.NoError(t, strictly(t.Context(), all))
	ended := map[sessions.TurnID]int{}
	for i, f := range frames(t, w, at) {
		require.EqualValues(t, i+1, f.Seq)
		if f.Type().Terminal() {
			ended[f.TurnID]++
		}
	}
	for turn, n := range ended {
		require.Equal(t, 1, n, "turn %s", turn)
	}
	require.Len(t, ended, len(users))
	return users
}
