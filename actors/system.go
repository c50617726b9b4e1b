package actors

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/trace"

	"agenthost/actors/feed"
	"agenthost/sessions"
	"agenthost/tools"
	"agenthost/tools/subagent"
)

// Config is what a System may be told besides what it needs. Zero values are
// the defaults.
type Config struct {
	Tools      *tools.Tree      // default: an empty tree
	Limits     sessions.Limits  // default of each: sessions.DefaultLimits
	IdleTTL    time.Duration    // after which an idle agent leaves; default 10 minutes
	DedupTTL   time.Duration    // for which an ended request id is remembered; default 5 minutes
	TargetRoot string           // where "{target}" leads; default "/targets"
	Logger     *slog.Logger     // default: none
	Now        func() time.Time // default: time.Now
	// Announce, when not nil, lets the store keep what is deleted for Unheard, and
	// is called once each time that a deletion has become durable. It must not
	// block, and may be called as long as the store is open.
	Announce func()
	// OwnerDayTokens is how many tokens the model calls of an owner's sessions may
	// consume in a day of UTC; 0 means no bound. It is looked at as a Budget is.
	OwnerDayTokens int64
	// Observer, when not nil, hears what the system does.
	Observer Observer
	// Tracer, when not nil, makes a span of each turn, and of each model call and
	// tool call in it.
	Tracer trace.Tracer
}

// System is the actor tree over one store. Its methods are safe for concurrent use.
type System struct {
	deps *deps

	stop    sync.Once
	stopped chan struct{}
}

// New starts the actor tree, and mounts each profile as a sub-agent below
// subagent.Root unless something is there. The store stays the caller's to close,
// after Stop. An error is INVALID_REQUEST about a profile or the configuration.
func New(store sessions.Store, profiles map[string]Profile, c Config) (*System, error) {
	d, err := newDeps(store, profiles, c)
	if err != nil {
		return nil, err
	}
	quiet := actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(libraryLog{d.log.Handler()}).With("part", "actors")
	})
	d.system = actor.NewActorSystem(quiet, actor.WithDeadLetterThrottleInterval(deadLetterPause))
	if d.toolTree, err = d.system.Root.SpawnNamed(toolTreeProps(d), "tools"); err != nil {
		return nil, sessions.AsError(err)
	}
	if d.root, err = d.system.Root.SpawnNamed(rootProps(d), "agents"); err != nil {
		return nil, sessions.AsError(err)
	}
	return &System{deps: d, stopped: make(chan struct{})}, nil
}

// deadLetterPause is how long a goroutine of the actor library outlives a
// message to an actor that is gone; its default of a second would make a system
// that has stopped look like one that leaks.
const deadLetterPause = 50 * time.Millisecond

func newDeps(store sessions.Store, profiles map[string]Profile, c Config) (*deps, error) {
	if err := c.Limits.Check(); err != nil {
		return nil, err
	}
	d := &deps{
		store: store, feed: feed.New(store), tree: c.Tools, profiles: map[string]Profile{},
		limits:     c.Limits.OrDefaults(),
		targetRoot: cmp.Or(c.TargetRoot, tools.DefaultTargetRoot),
		idleTTL:    cmp.Or(c.IdleTTL, defaultIdleTTL),
		dedupTTL:   cmp.Or(c.DedupTTL, defaultDedupTTL),
		log:        c.Logger, now: c.Now, announce: c.Announce, residents: &residents{},
		observer: Unobserved{}, tracer: c.Tracer,
	}
	if d.tree == nil {
		d.tree = &tools.Tree{}
	}
	if c.Observer != nil {
		d.observer = guarded{d, c.Observer}
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.idleTTL < 0 || d.dedupTTL < 0 {
		return nil, sessions.InvalidField("/idleTTL", "The idle and the dedup TTL must not be negative; use 0 for the default.")
	}
	if c.OwnerDayTokens < 0 {
		return nil, sessions.InvalidField("/ownerDayTokens", "An owner's budget must not be negative; use 0 for none.")
	}
	if _, err := tools.NewScope(nil, d.targetRoot, ""); err != nil {
		return nil, err
	}
	for name, p := range profiles {
		if err := p.check(name); err != nil {
			return nil, err
		}
		d.profiles[name] = p.withDefaults(d.idleTTL)
		if err := d.checkClientTools("/profiles/"+name+"/clientTools", p.ClientTools); err != nil {
			return nil, err
		}
	}
	if err := subagent.Mount(d.tree, slices.Sorted(maps.Keys(profiles))...); err != nil {
		d.log.Warn("a profile is no sub-agent; give it a name that can be part of a tool's path", "error", err)
	}
	d.ownerDayTokens = c.OwnerDayTokens
	d.recovery, d.clean = make(chan struct{}, recoveries), store.ClosedCleanly()
	d.admission = &admission{limit: int64(d.limits.BusyTurns)}
	d.lifetime, d.end = context.WithCancel(context.Background())
	return d, nil
}

// rootProps: a panic of the root is recovered, logged, and answered as a fault to
// whoever sent the message; stopping the root would stop every session.
func rootProps(d *deps) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return newRoot(d) },
		actor.WithReceiverMiddleware(func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(ctx actor.ReceiverContext, env *actor.MessageEnvelope) {
				defer func() {
					if fault := recover(); fault != nil {
						d.logPanic("root panicked", fault)
						if msg, ok := env.Message.(refuser); ok {
							msg.refuse(errFault())
						}
					}
				}()
				next(ctx, env)
			}
		}),
		actor.WithSupervisor(stopOnPanic),
		actor.WithGuardian(actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.ResumeDirective })))
}

// Root is the address of the AgentsRoot, for programs that send it messages
// themselves.
func (s *System) Root() *PID { return s.deps.root }

// ActorSystem is the actor system the tree runs in, for actors to be mounted.
func (s *System) ActorSystem() *actor.ActorSystem { return s.deps.system }

// Feed carries the frames of all sessions.
func (s *System) Feed() *feed.Feed { return s.deps.feed }

// Mount makes a Go tool callable at path.
func (s *System) Mount(path string, t tools.Tool) error { return s.deps.tree.Mount(path, t) }

// MountPID makes an actor callable at path. It gets *InvokeTool and responds
// with *ToolResult.
func (s *System) MountPID(path string, spec tools.Spec, pid *PID) error {
	return s.deps.tree.Mount(path, &pidTool{spec, pid})
}

// CheckInference returns INVALID_REQUEST when a prompt to a session of the profile
// could not ask this of models now, and UNKNOWN_PROFILE when there is no such profile.
func (s *System) CheckInference(profile string, asked sessions.Inference) error {
	p, known := s.deps.profiles[profile]
	if !known {
		return sessions.UnknownProfile(profile)
	}
	_, err := s.deps.inference(p, asked)
	return err
}

// Unmount takes a tool away and reports whether there was one. Calls under way
// go on.
func (s *System) Unmount(path string) bool {
	m, ok := s.deps.tree.Lookup(path)
	if ok && s.deps.tree.Unmount(path) {
		s.deps.send(s.deps.toolTree, &unmounted{m})
		return true
	}
	return false
}

// Tools returns what is mounted.
func (s *System) Tools() []*tools.Mounted { return s.deps.tree.All() }

// Resident reports whether a life has an agent now.
func (s *System) Resident(life sessions.Incarnation) bool { return s.deps.residents.has(life) }

// DedupTTL is how long an ended request id is remembered.
func (s *System) DedupTTL() time.Duration { return s.deps.dedupTTL }

// TombstoneMs is for how long it is known of what was deleted that it was there, in
// milliseconds.
func (s *System) TombstoneMs() int64 { return tombstoneMs(s.deps.dedupTTL) }

// Stopped is closed when the system has stopped.
func (s *System) Stopped() <-chan struct{} { return s.stopped }

// Alive returns nil when the root answers, ctx's error when it does not in time.
func (s *System) Alive(ctx context.Context) error {
	reply := make(chan struct{}, 1)
	_, err := ask(ctx, s, &alive{reply}, reply)
	return err
}

// Counts returns how many sessions are resident and how many turns busy, without
// those that wait for clients.
func (s *System) Counts() (resident, busy int64) {
	return s.deps.residents.count.Load(), s.deps.admission.busy.Load()
}

// ResidentOf returns how many sessions of an owner are resident.
func (s *System) ResidentOf(owner sessions.Owner) int64 { return s.deps.residents.of(owner) }

// Stop lets running turns go on for grace, cuts what is left at its last
// committed step, and ends when every actor and goroutine of the tree is gone.
// Later requests are answered HOST_STOPPING. Calls of Stop after the first wait
// for it.
func (s *System) Stop(grace time.Duration) {
	s.stop.Do(func() {
		s.drain(grace)     // turns end, or are cut, while everything they need is there
		s.deps.feed.Stop() // readers have then seen what the turns published
		// Now nobody asks the actors for anything any more.
		for _, pid := range []*PID{s.deps.root, s.deps.toolTree} {
			if err := s.deps.system.Root.StopFuture(pid).Wait(); err != nil {
				s.deps.log.Error("actor does not stop", "actor", pid.Id, "error", err)
			}
		}
		// Last, as the goroutines may be in calls of the store, which outlives them.
		if !s.deps.finish(lingering) {
			s.deps.log.Error("work of the actors goes on although they are gone; an oracle or a tool ignores its context")
		}
		s.deps.system.Shutdown()
		close(s.stopped)
	})
	<-s.stopped
}

// drain lets every agent leave. What an oracle or a tool holds up for longer
// than it may is left behind.
func (s *System) drain(grace time.Duration) {
	done := make(chan struct{})
	s.deps.send(s.deps.root, &drain{grace, done})
	select {
	case <-done:
	case <-time.After(grace + 2*lingering):
		s.deps.log.Error("agents do not leave; an oracle ignores its context")
	}
}
