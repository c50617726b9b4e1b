package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"agenthost/oracle"
	"agenthost/sessions"
	"agenthost/tools"
)

// run executes one turn: the oracle loop, in a goroutine of its own.
//
// Three parties touch it. The loop makes progress; the agent (or the turn's
// timer) may cut it at any moment; whoever comes first decides how the turn
// ends, and nothing is added after that. commits orders what is stored and
// published; mu guards the fields below it and is never held during I/O.
type run struct {
	deps    *deps
	agent   *PID
	ident   identity
	profile Profile
	scope   tools.Scope

	turn        sessions.Turn // as accepted
	fingerprint *[32]byte     // of the request; nil for a turn taken up after a restart

	ctx    context.Context // of model and tool calls; ends with the turn
	cancel context.CancelCauseFunc
	over   chan struct{} // closed when the run is abandoned
	beside *beside       // of the agent
	calls  sync.WaitGroup
	timer  *time.Timer

	clients []*tools.Mounted // the turn's tools that clients run; of the loop alone
	tries   int              // of taking the turn up that its going on makes; set before it starts
	away    time.Duration    // for how long nobody ran the turn that is taken up; of the loop alone
	news    chan struct{}    // capacity 1: a call that waits was answered

	stalled bool // the store could not take a commit; of the agent alone

	watch turnWatch

	commits sync.Mutex

	mu         sync.Mutex
	ended      bool // the end is decided
	abandoned  bool
	fence      sessions.Fence
	history    []sessions.Message // committed
	summary    sessions.Summary   // stands for the beginning of history in what the model gets
	summaries  int                // that were made for the next model call
	iterations int
	textBytes  int64          // of the whole turn
	attempt    int            // the number of the next model call among its repetitions
	usage      sessions.Usage // that no commit has stored yet
	summing    sessions.Usage // of a summary's call under way; not in usage yet
	step       step
	texts      bool                                      // text may wait for the next model call
	readBy     map[sessions.RequestID]int64              // requests whose text the turn has read, with the seqs of its frames
	children   map[sessions.SessionID]sessions.RefStatus // as frames have shown them
	place      bool                                      // it holds a place of the host's busy turns
	stored     sessions.Turn                             // as of the last commit
	lastFrame  int64                                     // the seq of the turn's last frame as of then
	wait       *clientWait                               // nil unless the turn waits
}

// newRun prepares the run of a turn of a's session.
func newRun(a *agent, turn sessions.Turn, fence sessions.Fence) *run {
	return &run{
		deps: a.deps, agent: a.self, ident: a.ident, profile: a.profile, scope: a.scope,
		turn: turn, stored: turn, fence: fence, attempt: 1, over: make(chan struct{}), beside: &a.beside,
		place: true, news: make(chan struct{}, 1),
	}
}

// begin makes the context of the turn's calls. under is the span that has asked
// for the turn.
func (r *run) begin(under trace.SpanContext, takenUp bool) {
	r.ctx, r.cancel = context.WithCancelCause(r.watch.begin(r, under, takenUp))
}

// remember spares the run from reading a history that the agent has in memory.
func (r *run) remember(history []sessions.Message, summary sessions.Summary, t sessions.AcceptedTurn) {
	r.summary = summary
	switch {
	case t.User == nil && int64(len(history)) == t.Session.MessageCount:
		r.history = history
	case t.User != nil && int64(len(history)) == t.User.Seq-1:
		r.history = append(history, *t.User)
	}
}

// start begins the turn's clock and its loop.
func (r *run) start() {
	r.limitTime(0)
	r.goOn(func(life context.Context) {
		if r.profile.Oracle == nil { // it was queued under another configuration
			r.cut(life, cutFailed(sessions.UnknownProfile(r.ident.profile)))
			return
		}
		err := r.load(life)
		if err == nil {
			err = r.prepareClients()
		}
		if err != nil {
			r.cut(life, cutFailed(sessions.AsError(err)))
			return
		}
		r.loop(life)
	})
}

// limitTime ends the turn when it has run for its limit, of which used is gone.
func (r *run) limitTime(used time.Duration) {
	limit := r.turn.Limits.PromptTimeoutMs
	r.timer = time.AfterFunc(time.Duration(limit)*time.Millisecond-used, func() {
		r.deps.background(func(life context.Context) { r.cut(life, cutFailed(errTimeout(limit))) })
	})
}

// goOn runs work in the run's goroutine, and tells the agent when it and all it
// started are gone.
func (r *run) goOn(work func(life context.Context)) {
	r.deps.background(func(life context.Context) {
		defer r.leaveLoop()
		ended := false
		defer func() { r.recoverLoop(life, recover(), ended) }()
		work(life)
		ended = true
	})
}

// leaveLoop tells the agent that the run is gone, once all it started is.
func (r *run) leaveLoop() {
	if r.timer != nil {
		r.timer.Stop()
	}
	r.cancel(nil)
	r.calls.Wait()
	r.deps.send(r.agent, &runGone{r})
}

// loop asks the oracle, runs the calls it asks for, and again, until an answer
// without a call. life is the context of the system, r.ctx that of the turn.
func (r *run) loop(life context.Context) {
	for {
		if err := r.overBudget(life); err != nil {
			r.cut(life, cutFailed(err))
			return
		}
		if err := r.readTexts(life); err != nil {
			r.cut(life, cutFailed(sessions.AsError(err)))
			return
		}
		again, failed := r.ask(life)
		if failed != nil {
			r.cut(life, cutFailed(failed))
			return
		}
		if again {
			continue
		}
		planned, end := r.plan()
		if end != nil {
			r.cut(life, *end)
			return
		}
		if err := r.appendAnswer(life); err != nil {
			r.cut(life, cutFailed(sessions.AsError(err)))
			return
		}
		if !r.finishCalls(life, planned) {
			return
		}
	}
}

// finishCalls runs the calls of a step, waits for clients where it must, appends
// the results, and reports whether the turn goes on.
func (r *run) finishCalls(life context.Context, planned []plannedCall) bool {
	r.invokeAll(life, planned)
	if slices.ContainsFunc(planned, func(p plannedCall) bool { return p.asks != "" }) {
		return r.askClients(life)
	}
	return r.endStep(life, r.appendResults(life))
}

// endStep reports whether the turn goes on after a step whose results were
// appended, unless err says otherwise.
func (r *run) endStep(life context.Context, err error) bool {
	if err != nil {
		r.cut(life, cutFailed(sessions.AsError(err)))
		return false
	}
	if failed := r.toolFailure(); failed != nil {
		r.cut(life, cutFailed(failed))
		return false
	}
	return true
}

// recoverLoop ends the turn when an oracle panics, or ends the goroutine.
func (r *run) recoverLoop(life context.Context, fault any, ended bool) {
	if fault != nil || !ended {
		r.deps.logPanic("turn panicked", fault, r.named()...)
		r.cut(life, cutFailed(errFault()))
	}
}

// load reads the history unless the agent had it in memory.
func (r *run) load(life context.Context) error {
	r.mu.Lock()
	known, of := len(r.history) > 0, r.fence.Incarnation
	r.mu.Unlock()
	if known {
		return nil
	}
	var history []sessions.Message
	var summary sessions.Summary
	err := r.read(life, func() (err error) {
		history, summary, err = r.deps.conversationOf(life, of)
		return err
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.history, r.summary = history, summary
	}
	return nil
}

// conversationOf reads a life's messages, and what stands for their beginning in
// what a model gets: summary.Over(history) is that.
func (d *deps) conversationOf(ctx context.Context, life sessions.Incarnation) (history []sessions.Message, summary sessions.Summary, err error) {
	if summary, err = d.store.Summary(ctx, life); err != nil {
		return nil, summary, err
	}
	page, err := d.store.Messages(ctx, life, sessions.MessageQuery{})
	return page.Messages, summary, err
}

// read reads from the store, again for as long as it is not available and the
// turn has not ended otherwise.
func (r *run) read(life context.Context, from func() error) error {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := from()
		if err == nil || sessions.CodeOf(err) != sessions.CodeStoreUnavailable {
			return err
		}
		select {
		case <-time.After(wait):
		case <-r.ctx.Done():
			return err
		case <-life.Done():
			return err
		}
	}
}

// plan decides, after a model's answer, what becomes of its calls: it returns
// them ready to be run, or how the turn ends here.
func (r *run) plan() ([]plannedCall, *cutting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.step.calls) == 0 {
		return nil, &cutting{status: sessions.TurnIsCompleted}
	}
	if r.iterations >= r.turn.Limits.MaxIterations {
		end := cutFailed(errMaxIterations(r.turn.Limits.MaxIterations))
		end.notRun = "the turn has used all its model calls"
		return nil, &end
	}
	planned := make([]plannedCall, len(r.step.calls))
	for i, c := range r.step.calls {
		if known := r.step.results[i]; known != nil {
			planned[i] = plannedCall{call: c, refusal: known.err.Err()}
			continue
		}
		planned[i] = r.planCall(c)
		r.step.ask(i, planned[i].asks)
		fault := planned[i].refusal
		r.step.results[i] = planned[i].result()
		if fault != nil && fault.Code == sessions.CodeToolScopeViolation && r.profile.OnScopeViolation == Fail {
			end := cutFailed(fault)
			end.notRun = "another call of the same answer was outside the allowed tools"
			return nil, &end
		}
	}
	return planned, nil
}

// toolFailure returns the first fault of the last step's calls, if the profile
// lets a tool fault end the turn.
func (r *run) toolFailure() *sessions.Error {
	if r.profile.OnToolError != Fail {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.lastResults() {
		if m.Error != nil && m.Error.Code != sessions.CodeToolScopeViolation {
			return sessions.Errorf(sessions.CodeToolInvokeFailed,
				"A tool call failed, and the profile lets that end the turn.").With("callId", m.ToolCallID)
		}
	}
	return nil
}

// lastResults returns the tool messages at the end of the history, before text
// that was read with them.
func (r *run) lastResults() []sessions.Message {
	end := len(r.history)
	for end > 0 && r.history[end-1].Role == sessions.RoleUser {
		end--
	}
	begin := end
	for begin > 0 && r.history[begin-1].Role == sessions.RoleTool {
		begin--
	}
	return r.history[begin:end]
}

// abandon ends the run without storing anything more: its session is deleted,
// or the host stops and the next start takes the turn up from its last
// committed step. why is what models and tools find as the cause.
func (r *run) abandon(why *sessions.Error) { r.drop(why, why) }

// drop is abandon, with what those who watch the turn are told, nil for nothing.
func (r *run) drop(cause error, told *sessions.Error) {
	r.mu.Lock()
	was := r.abandoned
	r.ended, r.abandoned = true, true
	r.mu.Unlock()
	r.cancel(cause)
	r.watch.end("", told)
	if !was {
		close(r.over)
	}
}

// isEnded reports whether the end of the turn is decided.
func (r *run) isEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// left returns what the run leaves to the agent's next turn: the history after
// the end with what stands for its beginning, and the activation.
func (r *run) left() ([]sessions.Message, sessions.Summary, sessions.Fence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history, r.summary, r.fence
}

// request is the whole input of the next model call.
func (r *run) request(visible []*tools.Mounted) oracle.Request {
	return r.profile.request(r.summary.Over(r.history), r.turn.Inference, visible)
}

// request is the whole input of a model call of the profile. What two calls have in
// common is the same in both to the byte, as providers cache it.
func (p Profile) request(history []sessions.Message, asked sessions.Inference, visible []*tools.Mounted) oracle.Request {
	req := oracle.Request{
		System: p.system(asked), Messages: history, Tools: make([]oracle.Tool, len(visible)),
		Params: asked.Params, Schema: asked.AnswerSchema,
	}
	for i, m := range visible {
		req.Tools[i] = oracle.Tool{Path: m.Path, Name: m.Function, Description: m.Spec.Description, Schema: m.Spec.Schema}
	}
	return req
}

// system is the system prompt with what a turn's request has put behind it.
func (p Profile) system(asked sessions.Inference) string {
	switch {
	case asked.Instructions == "":
		return p.System
	case p.System == "":
		return asked.Instructions
	default:
		return p.System + "\n\n" + asked.Instructions
	}
}

// errRunEnded tells the loop that the turn has ended without it.
var errRunEnded = errors.New("the turn has ended")
