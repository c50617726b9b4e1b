package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"agenthost/sessions"
	"agenthost/tools"
)

// agent is the AgentActor of one session.
//
// Owns: the session's turn, the prompts that wait for its end or to be read by
// it, and everyone who waits for theirs. Parent: the root. Children: none; a turn
// runs in the goroutine of its run. It takes its messages strictly in order: while
// an accept, a start, a withdrawal, a close or a detach is at the store, later
// ones wait, so that a cancel or a delete behind a prompt finds the prompt's turn.
// On a panic it answers its callers, ends its turn, and leaves; the root mounts
// another agent for the next message, or for the turns that are queued.
type agent struct {
	deps    *deps
	ident   identity
	profile Profile
	known   bool // the profile exists
	scope   tools.Scope
	self    *PID

	fence   sessions.Fence // zero until the first accept
	handled uint64         // requests taken from the root
	busy    bool           // a question is at the store whose answer later messages wait for
	next    *accepted      // an accept's answer, while the end of the turn before is still on its way
	held    []any          // messages behind what is at the store, in order
	late    any            // the one that had waited and is handled now

	waiting    []*waitingPrompt // prompts that the store has kept aside, and who waits for them
	recovering bool             // the first of them is one of many that the last host left
	pausing    bool             // the store could not start one, and has a pause
	pause      time.Duration    // the last one's length

	run      *run               // the active turn's, nil when there is none
	callers  []caller           // who waits for its end
	cancels  []*Cancel          // who waits for its cancellation
	parting  request            // the Close or Detach under way, nil when there is none
	replying *Answer            // what is at the store, nil when there is none
	going    int                // runs whose goroutines are not gone yet
	history  []sessions.Message // as of the last turn; shared, never changed
	summary  sessions.Summary   // of history
	last     *turnEnded         // of the last turn, if it ended while the store was asked
	beside   beside             // work of tools that may outlive their turns
	asides   asides             // side questions

	ending   *sessions.Error // set once the agent closes or leaves: what callers are told
	draining bool
	defunct  bool // must leave; what still comes goes back to the root
	timer    *time.Timer
	ticks    uint64
}

// caller waits for the end of the active turn.
type caller struct {
	prompt    *Prompt
	duplicate bool
}

func agentProps(d *deps, ident identity) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		profile, known := d.profiles[ident.profile]
		return &agent{deps: d, ident: ident, profile: profile, known: known}
	}, actor.WithReceiverMiddleware(recoverAgent), actor.WithSupervisor(stopOnPanic))
}

// stopOnPanic is what happens if a panic passes the recovery: never a restart,
// which would run on with the state of the fault.
var stopOnPanic = actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })

// recoverAgent turns a panic into the end of the agent's work: everyone who
// waits is answered, the turn ends failed.
func recoverAgent(next actor.ReceiverFunc) actor.ReceiverFunc {
	return func(ctx actor.ReceiverContext, env *actor.MessageEnvelope) {
		defer func() {
			if fault := recover(); fault != nil {
				a := ctx.Actor().(*agent)
				a.deps.logPanic("agent panicked", fault, "session", a.ident.id)
				a.breakDown(env.Message)
			}
		}()
		next(ctx, env)
	}
}

// Receive handles one message.
func (a *agent) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		a.start(ctx)
	case request:
		a.handled++
		a.take(ctx, msg)
	case *closeAgent, *leave:
		a.take(ctx, msg)
	case *accepted:
		a.handleAccepted(ctx, msg)
	case *closedSession:
		a.handleClosed(msg)
	case *detachedSession:
		a.handleDetached(msg)
	case *resume:
		a.handleResume(msg)
	case *turnEnded:
		a.handleTurnEnded(msg)
	case *unstored:
		a.handleUnstored(msg)
	case *runGone:
		a.going--
	case *sideFound:
		a.handleSideFound(msg)
	case *sideEnded:
		a.asides.leave(msg.side, msg.answer)
	case *ticked:
		a.handleTick(msg)
	case *actor.Stopping:
		a.draining = false
		a.stopTimer()
		a.leaveWaiting()
		return
	case *actor.Stopped:
		a.deps.residents.unmounted(a.life())
		return
	default:
		a.receiveOfWaiting(msg)
	}
	a.proceed(ctx)
}

// proceed takes up, after every message, what waited for it.
func (a *agent) proceed(ctx actor.Context) {
	if next := a.next; next != nil && a.run == nil {
		a.next, a.late = nil, next
		a.handleAccepted(ctx, next)
		a.late = nil
	}
	a.startNext()
	a.takeHeld(ctx)
	a.settle(ctx)
}

func (a *agent) start(ctx actor.Context) {
	a.self = ctx.Self()
	a.deps.residents.mounted(a.ident.life, a.ident.owner)
	if a.known {
		// The profile was checked when the system was made; only the key, which
		// never makes an error, is new.
		a.scope, _ = tools.NewScope(a.profile.Tools, a.deps.targetRoot, a.ident.key.Target)
	}
	if a.ident.waits {
		a.findWait()
	}
}

// take handles a message now, or keeps it behind what is at the store.
func (a *agent) take(ctx actor.Context, msg any) {
	if a.busy {
		a.held = append(a.held, msg)
		return
	}
	if req, ok := msg.(request); ok && (a.ending != nil || a.defunct) {
		a.turnAway(ctx, req)
		return
	}
	switch msg := msg.(type) {
	case *Prompt:
		a.handlePrompt(ctx, msg)
	case *Cancel:
		a.handleCancel(msg)
	case *Answer:
		a.handleAnswer(msg)
	case *SideQuestion:
		a.handleSideQuestion(msg)
	case *Close:
		a.handleCloseSession(msg)
	case *Detach:
		a.handleDetach(msg)
	case *takeUp:
		a.handleTakeUp()
	case *attend:
		a.handleAttend(msg)
	case *closeAgent:
		a.handleClose(ctx, msg)
	case *leave:
		a.handleLeave(msg)
	}
}

// turnAway handles a request that came to an agent on its way out.
func (a *agent) turnAway(ctx actor.Context, req request) {
	if a.ending != nil {
		req.refuse(a.ending)
		return
	}
	a.proposeIdle() // so that the root holds the request for the next agent
	ctx.Send(a.deps.root, req)
}

// takeHeld handles what waited, up to the next message that goes to the store.
func (a *agent) takeHeld(ctx actor.Context) {
	for len(a.held) > 0 && !a.busy {
		a.late = a.held[0]
		a.held = a.held[1:]
		a.take(ctx, a.late)
		a.late = nil
	}
	if len(a.held) == 0 {
		a.held = nil
	}
}

// working reports whether something under way needs the agent.
func (a *agent) working() bool {
	runs, going, waiting := a.run != nil, a.going, len(a.waiting)
	if a.parked() {
		runs, going, waiting = false, going-1, a.queued()
	}
	return a.busy || runs || going > 0 || a.asides.going > 0 || len(a.held) > 0 || waiting > 0
}

// settle looks, after every message, at whether the agent has work left.
func (a *agent) settle(ctx actor.Context) {
	if a.working() {
		a.stopTimer()
		return
	}
	switch {
	case a.ending != nil:
		ctx.Stop(a.self)
	case a.defunct:
		a.proposeIdle()
	case a.fence == (sessions.Fence{}) && a.ident.life == 0:
		a.proposeIdle() // it has no session to stay for
	case a.timer == nil:
		a.startTimer(idleTimer, a.idleTTL())
	}
}

func (a *agent) idleTTL() time.Duration {
	if a.known {
		return a.profile.IdleTTL
	}
	return a.deps.idleTTL
}

func (a *agent) proposeIdle() {
	a.deps.send(a.deps.root, &idle{a.self, a.handled, a.defunct, a.working()})
}

// timerKind says what an agent's timer is for. It has one at a time.
type timerKind int

const (
	idleTimer timerKind = iota
	graceTimer
)

func (a *agent) startTimer(what timerKind, after time.Duration) {
	a.stopTimer()
	a.ticks++
	count, self, d := a.ticks, a.self, a.deps
	a.timer = time.AfterFunc(after, func() { d.send(self, &ticked{what, count}) })
}

func (a *agent) stopTimer() {
	if a.timer != nil && !a.draining {
		a.timer.Stop()
		a.timer = nil
		a.ticks++
	}
}

func (a *agent) handleTick(msg *ticked) {
	if msg.count != a.ticks || a.timer == nil {
		return
	}
	a.timer = nil
	switch msg.what {
	case idleTimer:
		if !a.beside.going() && !a.attended() {
			a.proposeIdle()
		}
		// settle starts the next period, in case the root has sent something.
	case graceTimer:
		a.cutForStop()
	}
}

// handleClose ends the agent's work when its session is deleted.
func (a *agent) handleClose(ctx actor.Context, msg *closeAgent) {
	mine := msg.ends(a.life())
	switch {
	case mine && a.run != nil && a.run.isEnded() && !a.run.stalled:
		a.ending = msg.err // the turn was over before; its callers hear of its end
		a.dropWaiting(msg.err)
		a.beside.stop(msg.err)
		a.asides.end(msg.err)
	case mine:
		a.abandonRun(msg.err)
	}
	ctx.Send(a.deps.root, &closeAnswer{a.self, msg.deletion, mine})
}

// life is the life of the agent's session, 0 while it has none.
func (a *agent) life() sessions.Incarnation {
	if a.fence.Incarnation != 0 {
		return a.fence.Incarnation
	}
	return a.ident.life
}

// finishAll answers everyone who waits, and whoever comes later, with err.
func (a *agent) finishAll(err *sessions.Error) {
	a.ending = err
	a.beside.stop(err)
	a.asides.end(err)
	a.refuseCallers(err)
	a.dropWaiting(err)
}

// refuseCallers answers everyone who waits for the turn with err.
func (a *agent) refuseCallers(err *sessions.Error) {
	err = withTurn(err, a.run)
	for _, c := range a.callers {
		c.prompt.refuse(err)
	}
	for _, c := range a.cancels {
		c.refuse(err)
	}
	a.callers, a.cancels = nil, nil
	if a.parting != nil {
		a.parting.refuse(err) // it goes on; only its caller does not wait
		a.parting = nil
	}
	if a.replying != nil {
		a.replying.refuse(err) // likewise
		a.replying = nil
	}
}

// withTurn names the turn of r in err.
func withTurn(err *sessions.Error, r *run) *sessions.Error {
	if r == nil {
		return err
	}
	return err.With("turnId", r.turn.TurnID)
}

// handleLeave lets the turn go on for the grace period, then leaves. One that
// waits does so in the store.
func (a *agent) handleLeave(msg *leave) {
	a.refuseQueued(errStopping())
	if a.run == nil || a.run.parked() {
		a.cutForStop()
		return
	}
	a.asides.end(errStopping())
	a.startTimer(graceTimer, msg.grace)
	a.draining = true
}

// cutForStop leaves the turn as its last committed step has it.
func (a *agent) cutForStop() {
	a.draining = false
	if a.run == nil {
		a.finishAll(errStopping())
		return
	}
	a.abandonRun(errCutByStop(a.run.turn.TurnID))
}

// abandonRun tells everyone err, and drops the turn if there is one.
func (a *agent) abandonRun(err *sessions.Error) {
	if a.run == nil {
		a.finishAll(err)
		return
	}
	a.run.abandon(err)
	a.run.givePlace()
	a.finishAll(err)
	a.run = nil
}
