package actors

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/trace"

	"agenthost/actors/feed"
	"agenthost/sessions"
	"agenthost/tools"
)

// deps is what the actors of one system share. It is set up before the first
// actor starts and never changed.
type deps struct {
	store      sessions.Store
	feed       *feed.Feed
	tree       *tools.Tree
	profiles   map[string]Profile
	limits     sessions.Limits
	targetRoot string
	idleTTL    time.Duration
	dedupTTL   time.Duration
	log        *slog.Logger
	now        func() time.Time
	announce   func() // nil when nobody wants to hear of deletions
	observer   Observer
	tracer     trace.Tracer // nil when nothing is traced

	system    *actor.ActorSystem
	root      *PID
	toolTree  *PID
	admission *admission
	recovery  chan struct{} // places for turns that start after a restart
	clean     bool          // the last host closed the store
	residents *residents

	ownerDayTokens int64 // an owner's budget, 0 for none

	// lifetime ends when the system stops: after agents and runs are gone.
	lifetime context.Context
	end      context.CancelFunc

	mu     sync.Mutex
	closed bool           // no more background work
	work   sync.WaitGroup // goroutines of background
}

func (d *deps) nowMs() sessions.Time { return sessions.TimeOf(d.now()) }

func (d *deps) send(to *PID, msg any) { d.system.Root.Send(to, msg) }

// background runs f outside any mailbox. Its context lasts as long as the
// system: a caller who stops waiting never cancels a write. Once the system has
// stopped it does nothing.
func (d *deps) background(f func(context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.work.Go(func() { f(d.lifetime) })
	}
}

// finish ends the lifetime and waits for all background work, at most for
// patience; it reports whether all has ended.
func (d *deps) finish(patience time.Duration) bool {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.end()
	ended := make(chan struct{})
	go func() {
		d.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(patience):
		return false
	}
}

func (d *deps) logPanic(what string, fault any, args ...any) {
	d.log.Error(what, append(args, "panic", fault, "stack", string(debug.Stack()))...)
}

// deleted tells whoever wants to hear of deletions that there is one.
func (d *deps) deleted() {
	if d.announce != nil {
		d.announce()
	}
}

// tombstoneMs is how long a deleted session's traces are kept: 30 days, and at
// least as long as request ids are remembered.
func tombstoneMs(dedupTTL time.Duration) int64 {
	return max(30*24*time.Hour, dedupTTL).Milliseconds()
}

// acceptUnknown lets the store answer a prompt whose address has no session:
// its request id may be that of a deleted session, or of another request.
func (d *deps) acceptUnknown(ctx context.Context, p *Prompt) {
	result, err := d.store.AcceptTurn(ctx, sessions.AcceptTurn{
		Owner: p.Owner, At: p.address(), Request: p.Request, Content: p.Content,
		Refusal: sessions.ErrNoSession, Now: d.nowMs(),
	})
	switch {
	case err != nil:
		p.refuse(sessions.AsError(err))
	case result.Duplicate && result.Session.ID == p.address().ID: // made again since it was looked up
		d.send(d.root, p)
	case result.Duplicate:
		p.refuse(errRequestConflict(p.Request.ID))
	default: // the Refusal forbids it
		p.refuse(errFault())
	}
}

// admission bounds the turns of the host. All methods are safe for concurrent use.
type admission struct {
	limit  int64
	atEdge atomic.Int64 // prompts that have entered and are not answered
	busy   atomic.Int64 // turns that are not terminal and wait for no client
}

// edgeFactor is by how much the edge admits more than the limit: what repeats a
// request or is refused for another reason must get its own answer first.
const edgeFactor = 4

func (a *admission) enter() *sessions.Error {
	if a.atEdge.Add(1) > edgeFactor*a.limit {
		a.atEdge.Add(-1)
		return errOverloaded("busyTurns", a.limit)
	}
	return nil
}

func (a *admission) leave() { a.atEdge.Add(-1) }

// take reserves room for one busy turn and reports whether there was any.
func (a *admission) take() bool {
	if a.busy.Add(1) > a.limit {
		a.busy.Add(-1)
		return false
	}
	return true
}

func (a *admission) free() { a.busy.Add(-1) }

// residents is the set of lives that have an agent. An agent enters itself as
// soon as it knows its life, before its callers hear of it, and takes itself out
// when it has stopped. Anyone reads it.
type residents struct {
	lives sync.Map // sessions.Incarnation → sessions.Owner
	count atomic.Int64
}

func (r *residents) mounted(life sessions.Incarnation, owner sessions.Owner) {
	if life == 0 {
		return
	}
	if _, was := r.lives.LoadOrStore(life, owner); !was {
		r.count.Add(1)
	}
}

func (r *residents) unmounted(life sessions.Incarnation) {
	if _, was := r.lives.LoadAndDelete(life); was {
		r.count.Add(-1)
	}
}

// of counts those of an owner.
func (r *residents) of(owner sessions.Owner) (count int64) {
	for _, whose := range r.lives.Range {
		if whose == owner {
			count++
		}
	}
	return count
}

func (r *residents) has(life sessions.Incarnation) bool {
	_, ok := r.lives.Load(life)
	return ok
}
