package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// awaits stands between a turn and all that it waits for: the store, models, tools,
// processes and clients. Each time that the turn begins to wait for one of them, or
// gets something from it, is a point. At one of them the turn is cancelled.
type awaits struct {
	sessions.Store

	w      *actortest.World
	at     sessions.Address
	target point
	cancel chan actors.CancelReply

	mu      sync.Mutex
	points  map[string]int // how often each was reached
	reached bool           // the target was
	outage  bool           // the store was away once
	grown   bool           // the conversation was too long once
}

// point is the n-th time, from 1, that a turn comes to what has a name.
type point struct {
	name string
	n    int
}

// reach counts a point, and cancels the turn if it is the one.
func (a *awaits) reach(name string) (isTarget bool) {
	a.mu.Lock()
	a.points[name]++
	isTarget = a.target == point{name, a.points[name]}
	a.reached = a.reached || isTarget
	a.mu.Unlock()
	if isTarget {
		a.w.System.ActorSystem().Root.Send(a.w.System.Root(), &actors.Cancel{Owner: actortest.Owner, At: a.at, Reply: a.cancel})
	}
	return isTarget
}

// wait is a point at which the turn's cancel must end a wait. It returns the
// context's error then.
func (a *awaits) wait(ctx context.Context, name string) error {
	if a.reach(name) {
		<-ctx.Done()
	}
	return ctx.Err()
}

// met reports whether the turn came to the point.
func (a *awaits) met() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reached
}

// once reports whether something happens now, as it does a single time.
func (a *awaits) once(happened *bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := !*happened
	*happened = true
	return first
}

func (a *awaits) wrap(s sessions.Store) sessions.Store {
	a.Store = s
	return a
}

func (a *awaits) AcceptTurn(ctx context.Context, c sessions.AcceptTurn) (sessions.AcceptedTurn, error) {
	done, err := a.Store.AcceptTurn(ctx, c)
	a.reach("accept")
	return done, err
}

// CommitTurn is away for one commit of results, so that one has to be tried again.
func (a *awaits) CommitTurn(ctx context.Context, c sessions.CommitTurn) (sessions.CommittedTurn, error) {
	if c.End != nil {
		return a.Store.CommitTurn(ctx, c) // the end, which nothing cancels
	}
	kind := commitKind(c)
	a.reach("commit of " + kind)
	if kind == "results" && a.once(&a.outage) {
		return sessions.CommittedTurn{}, sessions.Errorf(sessions.CodeStoreUnavailable, "The store is away.")
	}
	done, err := a.Store.CommitTurn(ctx, c)
	a.reach("committed " + kind)
	return done, err
}

// commitKind says what a step of a turn brings.
func commitKind(c sessions.CommitTurn) string {
	switch {
	case len(c.Wait) > 0:
		return "calls to wait for"
	case c.GoOn:
		return "the end of a wait"
	case len(c.Messages) == 0:
		return "frames"
	case c.Messages[0].Role == sessions.RoleTool:
		return "results"
	default:
		return "an answer"
	}
}

func (a *awaits) AnswerCalls(ctx context.Context, c sessions.AnswerCalls) (sessions.AnsweredCalls, error) {
	a.reach("answer")
	done, err := a.Store.AnswerCalls(ctx, c)
	a.reach("answered")
	return done, err
}

func (a *awaits) Messages(ctx context.Context, life sessions.Incarnation, q sessions.MessageQuery) (sessions.MessagePage, error) {
	a.reach("read of the history")
	return a.Store.Messages(ctx, life, q)
}

func (a *awaits) Summary(ctx context.Context, life sessions.Incarnation) (sessions.Summary, error) {
	a.reach("read of the summary")
	return a.Store.Summary(ctx, life)
}

// waitingOracle is the model of the turn: what it plays may be waited for, and its
// window is too small once.
type waitingOracle struct {
	oracle.Oracle
	a *awaits
}

func (o waitingOracle) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	inner, kind := o.Oracle, "a model"
	switch {
	case isSummary(r):
		inner, kind = scripted.New(text("They worked.")), "a summary"
	case len(r.Messages) > 8 && o.a.once(&o.a.grown):
		inner = scripted.New(overflow)
	}
	return func(yield func(oracle.Part, error) bool) {
		if err := o.a.wait(ctx, "call of "+kind); err != nil {
			yield(nil, err)
			return
		}
		for part, err := range inner.Infer(ctx, r) {
			if e := o.a.wait(ctx, "a part of what "+kind+" says"); e != nil {
				yield(nil, e)
				return
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

// tool is a tool that the turn waits for.
func (a *awaits) tool(ctx context.Context, c tools.Call) (json.RawMessage, error) {
	if err := a.wait(ctx, "call of "+c.Path); err != nil {
		return nil, err
	}
	return json.RawMessage(`1`), nil
}

// process is a tool that runs a process, for ever when the turn is cancelled
// meanwhile.
func (a *awaits) process(ctx context.Context, _ tools.Call) (json.RawMessage, error) {
	asleep := "0"
	if a.reach("process") {
		asleep = "3600"
	}
	if err := exec.CommandContext(ctx, "sleep", asleep).Run(); err != nil {
		return nil, err
	}
	return json.RawMessage(`1`), nil
}

// deaf is a tool that does not hear of its cancel before it has ended.
func (a *awaits) deaf(context.Context, tools.Call) (json.RawMessage, error) {
	a.reach("a deaf tool")
	return json.RawMessage(`1`), nil
}

// everything is a turn that waits for all there is to wait for.
func everything() oracle.Oracle {
	side := calls("/t/tool", "/t/ordered", "/t/ordered", "/t/process", "/t/deaf")
	side.Deltas = []scripted.Delta{{Text: "Let me "}, {Text: "see."}}
	child := asks(`{"prompt":"look it up"}`)
	return family(acts("work", side, child, calls("/t/guarded/tool", "/ui/ask", "/t/tool"), text("done")),
		acts("look it up", calls("/t/tool"), text("42")))
}

// answers gives every call that waits what it waits for, until the turn has ended.
func (a *awaits) answers(ctx context.Context) {
	stream := a.w.System.Feed().NewStream()
	defer stream.Close()
	a.w.System.Feed().Attach(stream, actortest.Owner, a.w.Session(a.at).Fence.Incarnation, "", 0, true)
	for {
		frame, err := stream.Next(ctx)
		if err != nil || frame.Type().Terminal() {
			return
		}
		waits, ok := frame.Body.(sessions.Waiting)
		if !ok {
			continue
		}
		a.reach("clients")
		for _, p := range waits.Pending {
			given := gives(`1`)
			if p.Kind == sessions.PendingApproval {
				given = approves(true)
			}
			_, err := giveAnswer(a.w, a.at, p.CallID, given)
			for sessions.CodeOf(err) == sessions.CodeStoreUnavailable { // the turn's end is on its way
				_, err = giveAnswer(a.w, a.at, p.CallID, given)
			}
			if err != nil && sessions.CodeOf(err) != sessions.CodeNotFound {
				a.w.T.Errorf("the answer was refused: %v", err)
			}
		}
	}
}

// runCancelled runs the turn with a cancel at a point, and returns what it came to.
func runCancelled(t *testing.T, at point) *awaits {
	t.Helper()
	a := &awaits{at: actortest.Key("a"), target: at, cancel: make(chan actors.CancelReply, 1), points: map[string]int{}}
	tree := treeOf(t, mounts{
		"/t/tool": invoke(a.tool), "/t/guarded/tool": invoke(a.tool), "/t/process": invoke(a.process), "/t/deaf": invoke(a.deaf),
		"/t/ordered": ordered{invoke(a.tool)},
	})
	a.w = actortest.New(t, profiles(waitingOracle{everything(), a}, guarded, func(p *actors.Profile) {
		p.Tools = []string{"/t", "/agents"}
	}), actortest.Config{
		Config: actors.Config{Tools: tree, Limits: sessions.Limits{ParallelToolCalls: 3}}, Wrap: a.wrap,
	})
	call := a.w.Send(a.at, "work")
	call.Accepted()
	a.answers(t.Context())
	reply := call.Reply()
	for reply.Err != nil && reply.Err.Code == sessions.CodeStoreUnavailable { // the store was away; the turn goes on
		reply = a.w.Send(a.at, "work", actortest.As(call.Prompt.Request.ID)).Reply()
	}
	if a.met() {
		a.requireCancelled(<-a.cancel, reply)
	} else {
		require.Nil(t, reply.Err)
		require.Equal(t, "done", sessions.TextOf(reply.Final.Content))
	}
	return a
}

// requireCancelled requires that the turn has one end, which everybody was told, and
// that the session is as good as new.
func (a *awaits) requireCancelled(cancel actors.CancelReply, reply actors.PromptReply) {
	t := a.w.T
	if cancel.Err != nil {
		require.Equal(t, sessions.CodeStoreUnavailable, cancel.Err.Code, "%v", cancel.Err)
	}
	if cancel.Cancelled || cancel.Err != nil {
		require.Equal(t, sessions.TurnIsCancelled, reply.Turn.Status)
		require.Equal(t, sessions.CodeCancelled, reply.Err.Code)
	} else {
		require.Nil(t, reply.Err, "the turn was over before")
	}
	require.Empty(t, sessions.OpenCalls(a.w.History(a.at)))
	require.NoError(t, sessions.CheckPairing("/history", a.w.History(a.at)))
	require.Empty(t, a.w.Session(a.at).Pending)
	for _, ref := range refsOf(t.(*testing.T), a.w, a.at) {
		a.w.Eventually(func() bool { return a.w.Session(actortest.ID(ref.SessionID)).ActiveTurn == nil }, "that the child's turn has ended")
	}
	require.Equal(t, "fine", a.w.Say(a.at, "hello"))
	requireNoBusy(t.(*testing.T), a.w)
}

// ordered is a tool whose calls run one after the other.
type ordered struct{ invoke }

func (o ordered) Spec() tools.Spec {
	s := o.invoke.Spec()
	s.InOrder = true
	return s
}

// A cancel at any moment ends the turn, whatever it waits for then: nothing is left
// running, the history is valid, and the session takes the next prompt. actortest
// finds goroutines that are left.
func TestCancelWhereverATurnWaits(t *testing.T) {
	whole := runCancelled(t, point{})
	require.Greater(t, len(whole.points), 20)
	for _, name := range slices.Sorted(maps.Keys(whole.points)) {
		for n := range min(whole.points[name], 3) {
			t.Run(fmt.Sprintf("%s %d", name, n+1), func(t *testing.T) {
				a := runCancelled(t, point{name, n + 1})
				require.True(t, a.met() || n > 0, "what runs side by side comes in another order only")
			})
		}
	}
}
