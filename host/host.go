package host

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"agenthost/actors"
	"agenthost/host/api"
	"agenthost/sessions"
	"agenthost/tools"
)

// Profile says who answers a session's prompts, and within which bounds.
type Profile = actors.Profile

// Budget bounds what the model calls of a profile's turns and sessions may consume.
type Budget = actors.Budget

// Config is what a Host may be told besides what it needs. Zero values are the
// defaults.
type Config struct {
	Tools      *tools.Tree      // what can be called; default: nothing
	Limits     sessions.Limits  // default of each: sessions.DefaultLimits
	IdleTTL    time.Duration    // after which an idle session's actor leaves memory; default 10 minutes
	DedupTTL   time.Duration    // for which an ended request id is remembered; default 5 minutes
	StopGrace  time.Duration    // for which running turns may go on at a stop; default 10 s
	TargetRoot string           // where "{target}" leads; default "/targets"
	Retention  Retention        // what the host removes by itself; default: nothing
	Version    string           // default: the module's
	Logger     *slog.Logger     // default: none
	Now        func() time.Time // default: time.Now

	// OwnerDayTokens is how many tokens the model calls of an owner's sessions may
	// consume in a day of UTC; 0 means no bound. It is looked at as a Budget is.
	OwnerDayTokens int64

	// OnDeleted, when not nil, hears of every deleted session at least once, in the
	// order of their deletion and at most 100 in a call, also after a crash. It is
	// called from one goroutine, and again with the same sessions after an error;
	// its context ends when the host stops. Without it nothing is kept to be told.
	OnDeleted OnDeleted

	Observer Observer             // hears what happens, to be counted; default: nobody
	Tracing  trace.TracerProvider // makes spans of prompts and turns; default: none
}

const (
	defaultStopGrace = 10 * time.Second
	// sweepEvery is how often expired claims and tombstones are removed.
	sweepEvery = time.Minute
)

// Host is one running host. It acts as the owner sessions.LocalOwner and may administer; As gives
// the operations to another caller.
type Host struct {
	*Access

	config   Config
	store    sessions.Store
	system   *actors.System
	profiles map[string]Profile
	instance string
	started  sessions.Time
	saves    *saves
	keys     *keyring
	watchers atomic.Int64 // subscriptions open
	tracer   trace.Tracer // nil when nothing is traced

	start, stop sync.Once
	startErr    error
	stopped     chan struct{}
	tasks       tasks
	retirer     *retirer   // nil when retention is off
	announcer   *announcer // nil without a hook
}

// New composes a host that owns the store from now on: Stop closes it, and so
// does New when it fails. Errors are INVALID_REQUEST about the profiles or the
// configuration.
func New(store sessions.Store, profiles map[string]Profile, c Config) (*Host, error) {
	c.Limits = c.Limits.OrDefaults()
	c.StopGrace = cmp.Or(c.StopGrace, defaultStopGrace)
	c.Version = cmp.Or(c.Version, moduleVersion())
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	h := &Host{
		config: c, store: store, profiles: maps.Clone(profiles), saves: newSaves(store.SetState), keys: newKeyring(store, c.Now),
		instance: uuid.NewString(), started: sessions.TimeOf(c.Now()), stopped: make(chan struct{}),
	}
	if err := h.compose(); err != nil {
		if closeErr := store.Close(); closeErr != nil {
			c.Logger.Error("store does not close", "error", closeErr)
		}
		return nil, err
	}
	h.Access = h.As(api.Caller{Owner: sessions.LocalOwner, Admin: true, Home: true})
	return h, nil
}

// compose starts the actor tree and makes what runs beside it.
func (h *Host) compose() (err error) {
	c := h.config
	if err := c.Retention.check(); err != nil {
		return err
	}
	if c.Tracing != nil {
		h.tracer = c.Tracing.Tracer(tracerName, trace.WithInstrumentationVersion(c.Version))
	}
	var announce func()
	if c.OnDeleted != nil {
		h.announcer = newAnnouncer(h.store, c.OnDeleted, c.Logger)
		announce = h.announcer.nudge
	}
	h.system, err = actors.New(h.store, h.profiles, actors.Config{
		Tools: c.Tools, Limits: c.Limits, IdleTTL: c.IdleTTL, DedupTTL: c.DedupTTL,
		TargetRoot: c.TargetRoot, Logger: c.Logger, Now: c.Now, Announce: announce, OwnerDayTokens: c.OwnerDayTokens,
		Observer: c.Observer, Tracer: h.tracer,
	})
	if err != nil {
		return err
	}
	h.retirer = newRetirer(h)
	return nil
}

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// As returns the operations as a caller may use them.
func (h *Host) As(caller api.Caller) *Access { return &Access{host: h, caller: caller} }

// System is the actor tree, for programs that are actor systems themselves.
func (h *Host) System() *actors.System { return h.system }

// Start reads the keys, takes up the turns that the last host of the store left
// unfinished, and begins to sweep and to tell of deletions. Requests may come once it has
// returned nil. Calls after the first do nothing and return the same.
func (h *Host) Start(ctx context.Context) error {
	h.start.Do(func() {
		if h.startErr = h.keys.load(ctx); h.startErr != nil {
			return
		}
		if h.startErr = h.system.Recover(ctx); h.startErr != nil {
			return
		}
		h.tasks.start(h.sweep)
		if h.retirer != nil {
			h.tasks.start(h.retirer.run)
		}
		if h.announcer != nil {
			h.tasks.start(h.announcer.run)
		}
	})
	return h.startErr
}

// sweep removes what has expired or what a crash has left half-deleted, now and
// every so often.
func (h *Host) sweep(ctx context.Context) {
	for {
		if err := h.store.Sweep(ctx, sessions.TimeOf(h.config.Now())); err != nil && ctx.Err() == nil {
			h.config.Logger.Warn("sweep failed; it is tried again", "error", err)
		}
		if !pause(ctx, sweepEvery) {
			return
		}
	}
}

// Stop ends the host: prompts are refused, running turns may go on for the
// grace period, then actors, subscriptions and the store end, in this order, as
// each may still need what comes after it. Calls after the first wait for it.
func (h *Host) Stop() {
	h.stop.Do(func() {
		h.system.Stop(h.config.StopGrace)
		h.tasks.stop()
		if err := h.store.Close(); err != nil {
			h.config.Logger.Error("store does not close", "error", err)
		}
		close(h.stopped)
	})
	<-h.stopped
}

// Ready returns nil when the store takes writes and the root answers.
func (h *Host) Ready(ctx context.Context) error {
	if err := h.system.Alive(ctx); err != nil {
		return err
	}
	return h.store.CheckWritable(ctx)
}
