package host_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// makeKey makes a key and requires that it is made.
func makeKey(t *testing.T, h *hosttest.Host, args api.KeyCreateArgs) *api.KeyCreateResult {
	t.Helper()
	made, err := h.KeyCreate(t.Context(), &args)
	require.NoError(t, err)
	return made
}

func TestWithoutKeysEveryoneIsLocal(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	require.False(t, h.DemandsKeys())
	caller, err := h.Admit("anything")
	require.NoError(t, err)
	require.Equal(t, api.Caller{Owner: sessions.LocalOwner, Admin: true, Anyone: true}, caller)
	require.NoError(t, h.Readmit(caller, 1))
}

func TestKeysAdmitTheirOwners(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	keyless, err := h.Admit("")
	require.NoError(t, err)
	user := makeKey(t, h, api.KeyCreateArgs{Owner: "ann", Name: "laptop"})
	admin := makeKey(t, h, api.KeyCreateArgs{Owner: "root", Role: sessions.KeyOfAdmin})
	require.True(t, h.DemandsKeys())
	require.NotEqual(t, user.Secret, admin.Secret)

	caller, err := h.Admit(user.Secret)
	require.NoError(t, err)
	require.Equal(t, api.Caller{Owner: "ann", Key: user.Key.ID}, caller)
	boss, err := h.Admit(admin.Secret)
	require.NoError(t, err)
	require.Equal(t, api.Caller{Owner: "root", Admin: true, Key: admin.Key.ID}, boss)
	for _, secret := range []string{"", "ahk_", user.Secret + "x", user.Secret[:len(user.Secret)-1], string(user.Key.ID)} {
		_, err := h.Admit(secret)
		require.Equal(t, sessions.CodeUnauthenticated, sessions.CodeOf(err), secret)
	}
	require.Equal(t, sessions.CodeUnauthenticated, sessions.CodeOf(h.Readmit(keyless, 0)), "who came before there were keys")
	require.NoError(t, h.Readmit(api.Caller{Home: true}, 1))
	require.NoError(t, h.Readmit(caller, 1))

	for range 2 {
		revoked, err := h.KeyRevoke(t.Context(), &api.KeyRevokeArgs{KeyID: user.Key.ID})
		require.NoError(t, err)
		require.NotZero(t, revoked.Key.RevokedAt)
	}
	_, unknown := h.Admit("unknown")
	_, err = h.Admit(user.Secret)
	require.Equal(t, unknown, err, "a revoked key is answered as one that never was")
	require.Equal(t, unknown, h.Readmit(caller, 0))
	_, err = h.KeyRevoke(t.Context(), &api.KeyRevokeArgs{KeyID: "nobody's"})
	require.ErrorIs(t, err, sessions.ErrNoKey)
}

func TestKeysAreKnownAfterARestart(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	good := makeKey(t, h, api.KeyCreateArgs{Owner: "ann"})
	bad := makeKey(t, h, api.KeyCreateArgs{Owner: "ann"})
	_, err := h.KeyRevoke(t.Context(), &api.KeyRevokeArgs{KeyID: bad.Key.ID})
	require.NoError(t, err)
	h.Restart()
	require.True(t, h.DemandsKeys())
	_, err = h.Admit(good.Secret)
	require.NoError(t, err)
	_, err = h.Admit(bad.Secret)
	require.Equal(t, sessions.CodeUnauthenticated, sessions.CodeOf(err))
	_, err = h.KeyRevoke(t.Context(), &api.KeyRevokeArgs{KeyID: good.Key.ID})
	require.NoError(t, err)
	h.Restart()
	require.True(t, h.DemandsKeys(), "also when all are revoked")
}

func TestKeysAreListedWithTheirLastUse(t *testing.T) {
	clock := newClock()
	h := hosttest.New(t, hosttest.Options{Config: host.Config{Now: clock.now}})
	list, err := h.KeyList(t.Context(), &api.KeyListArgs{})
	require.NoError(t, err)
	require.NotNil(t, list.Keys)
	require.Empty(t, list.Keys)
	first := makeKey(t, h, api.KeyCreateArgs{Owner: "zoe", PerSecond: new(5)})
	second := makeKey(t, h, api.KeyCreateArgs{Owner: "ann"})
	clock.advance(time.Minute)
	_, err = h.Admit(second.Secret)
	require.NoError(t, err)
	list, err = h.KeyList(t.Context(), &api.KeyListArgs{})
	require.NoError(t, err)
	require.Len(t, list.Keys, 2)
	require.Equal(t, first.Key, list.Keys[0])
	require.Equal(t, 5, list.Keys[0].Burst, "as many at once as a second")
	require.Equal(t, sessions.TimeOf(clock.now()), list.Keys[1].LastUsedAt)
}

func TestKeysAreBoundToTheirRate(t *testing.T) {
	clock := newClock()
	h := hosttest.New(t, hosttest.Options{Config: host.Config{Now: clock.now}})
	slow := makeKey(t, h, api.KeyCreateArgs{Owner: "ann", PerSecond: new(2), Burst: new(3)})
	free := makeKey(t, h, api.KeyCreateArgs{Owner: "ann"})
	var caller api.Caller
	for range 3 {
		var err error
		caller, err = h.Admit(slow.Secret)
		require.NoError(t, err)
	}
	for range 2 { // a refusal costs nothing
		_, err := h.Admit(slow.Secret)
		require.Equal(t, sessions.CodeOverloaded, sessions.CodeOf(err))
		require.Equal(t, "1", api.RetryAfter(err))
		require.Equal(t, err, h.Readmit(caller, 1))
		require.NoError(t, h.Readmit(caller, 0))
	}
	_, err := h.Admit(free.Secret)
	require.NoError(t, err, "each key has its own")
	clock.advance(500 * time.Millisecond)
	require.NoError(t, h.Readmit(caller, 1))
	require.Error(t, h.Readmit(caller, 1))
}

// A crowd gets what one client would: neither more nor, for its crowding, less.
func TestACrowdIsBoundToTheRateOfItsKey(t *testing.T) {
	const clients, each, perSecond, step = 64, 500, 10, 100 * time.Microsecond
	var ticks atomic.Int64
	begin := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return begin.Add(time.Duration(ticks.Add(1)) * step) }
	h := hosttest.New(t, hosttest.Options{Config: host.Config{Now: now}})
	key := makeKey(t, h, api.KeyCreateArgs{Owner: "ann", PerSecond: new(perSecond)})
	before := ticks.Load()
	var passed atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range each {
				if _, err := h.Admit(key.Secret); err == nil {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	elapsed := time.Duration(ticks.Load()-before) * step
	require.InDelta(t, perSecond+elapsed.Seconds()*perSecond, passed.Load(), 1)
}

func TestKeysAreForAdmins(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	key := makeKey(t, h, api.KeyCreateArgs{Owner: sessions.LocalOwner})
	caller, err := h.Admit(key.Secret)
	require.NoError(t, err)
	for _, args := range []any{&api.KeyCreateArgs{Owner: "local"}, &api.KeyListArgs{}, &api.KeyRevokeArgs{KeyID: key.Key.ID}, &api.PurgeArgs{}} {
		_, err := h.Do(t.Context(), caller, args, nil)
		require.Equal(t, sessions.CodeForbidden, sessions.CodeOf(err), "%T", args)
	}
	for field, args := range map[string]api.KeyCreateArgs{
		"/args/owner":     {Owner: "*"},
		"/args/role":      {Owner: "ann", Role: "boss"},
		"/args/burst":     {Owner: "ann", Burst: new(1)},
		"/args/perSecond": {Owner: "ann", PerSecond: new(0)},
	} {
		_, err := h.KeyCreate(t.Context(), &args)
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), field)
		require.Equal(t, field, sessions.AsError(err).Details["field"])
	}
}

func TestAdminsActForOthers(t *testing.T) {
	h := hosttest.New(t, hosttest.Options{})
	ann, bob, boss := api.Caller{Owner: "ann"}, api.Caller{Owner: "bob"}, api.Caller{Owner: "boss", Admin: true}
	for _, who := range []api.Caller{ann, bob} {
		_, err := h.As(who).SessionCreate(t.Context(), &api.SessionCreateArgs{Address: api.Address{SessionID: "x"}})
		require.NoError(t, err)
	}
	got, err := h.As(boss).SessionGet(t.Context(), &api.SessionGetArgs{Address: api.Address{SessionID: "x", Owner: "ann"}})
	require.NoError(t, err)
	require.Equal(t, sessions.Owner("ann"), got.Session.Owner)
	_, err = h.As(bob).SessionGet(t.Context(), &api.SessionGetArgs{Address: api.Address{SessionID: "x", Owner: "ann"}})
	require.Equal(t, sessions.CodeForbidden, sessions.CodeOf(err))

	_, err = h.As(ann).Prompt(t.Context(), &api.PromptArgs{Address: api.Address{SessionID: "x"}, Text: "hi"}, nil)
	require.NoError(t, err)
	for who, resident := range map[api.Caller]int64{ann: 1, bob: 0, boss: 1} {
		info, err := h.As(who).HostInfo(t.Context(), &api.HostInfoArgs{})
		require.NoError(t, err)
		require.Equal(t, resident, info.ResidentSessions, who.Owner)
		require.Zero(t, info.ActiveTurns)
	}

	var owners []sessions.Owner
	for cursor := ""; ; {
		page, err := h.As(boss).SessionList(t.Context(), &api.SessionListArgs{Owner: sessions.AllOwners, Limit: new(1), Cursor: cursor})
		require.NoError(t, err)
		owners = append(owners, page.Sessions[0].Owner)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, []sessions.Owner{"ann", "bob"}, owners)
	done, err := h.As(boss).SessionClearAll(t.Context(), &api.SessionClearAllArgs{AllOwners: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, done.Receipt.Sessions)
	require.True(t, done.Receipt.Complete)
	page, err := h.As(boss).SessionList(t.Context(), &api.SessionListArgs{Owner: sessions.AllOwners})
	require.NoError(t, err)
	require.Empty(t, page.Sessions)
}

// clock is a clock that only its test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
