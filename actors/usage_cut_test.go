package actors_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// case 51: the request of a summary was made, whatever ends it.
func TestCase51ASummaryThatIsCutIsInTheLedger(t *testing.T) {
	t.Run("a cancel", func(t *testing.T) {
		o := scripted.Strict(scripted.New(turnsBefore(overflow, hangs)...))
		w := world(t, o, nil)
		at := actortest.Key("a")
		saidBefore(w, at)
		call := w.Send(at, "work")
		awaitSummary(t, o, 4)
		w.Cancel(at)
		require.EqualValues(t, 2, call.Failed(sessions.CodeCancelled).Turn.Usage.Calls)
		requireLedger(t, w, o)
	})
	t.Run("the time of the turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := scripted.Strict(scripted.New(turnsBefore(overflow, hangs)...))
			w := actortest.NewInBubble(t, profiles(o, func(p *actors.Profile) { p.PromptTimeout = time.Minute }), actortest.Config{})
			at := actortest.Key("a")
			saidBefore(w, at)
			require.EqualValues(t, 2, w.Send(at, "work").Failed(sessions.CodeAgentTimeout).Turn.Usage.Calls)
			requireLedger(t, w, o)
		})
	})
	t.Run("after it has told its tokens", func(t *testing.T) {
		told := make(chan struct{})
		o := scripted.Strict(tellsThenHangs{scripted.New(turnsBefore(overflow)...), told})
		w := world(t, o, nil)
		at := actortest.Key("a")
		saidBefore(w, at)
		call := w.Send(at, "work")
		<-told
		w.Cancel(at)
		require.Equal(t, sessions.Usage{InputTokens: 60, OutputTokens: 40, Calls: 2}, call.Failed(sessions.CodeCancelled).Turn.Usage)
		requireLedger(t, w, o)
	})
}

// tellsThenHangs is an oracle that tells what a summary consumes, and never ends it.
type tellsThenHangs struct {
	oracle.Oracle
	told chan struct{}
}

func (o tellsThenHangs) Infer(ctx context.Context, req oracle.Request) iter.Seq2[oracle.Part, error] {
	if !isSummary(req) {
		return o.Oracle.Infer(ctx, req)
	}
	return func(yield func(oracle.Part, error) bool) {
		if !yield(oracle.UsageReport{Usage: sessions.Usage{InputTokens: 60, OutputTokens: 40}}, nil) {
			return
		}
		close(o.told)
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

// requireLedger requires that the owner's usage has each request of the oracle.
func requireLedger(t *testing.T, w *actortest.World, o *scripted.StrictOracle) {
	t.Helper()
	require.EqualValues(t, len(o.Requests()), used(t, w, sessions.UsageQuery{By: sessions.UsageByOwner}).Calls)
}

// What a model call has consumed is not lost when a commit of the turn, which began
// before the call's end, ends after it.
func TestUsageOfACallThatEndsDuringACommitIsStored(t *testing.T) {
	begun, goesOn := make(chan struct{}), make(chan struct{})
	store := &gatedStore{onCommit: func(c sessions.CommitTurn) error {
		if c.End == nil {
			close(begun)
			<-goesOn
		}
		return nil
	}}
	gate := make(chan struct{})
	o := gatedEnd{scripted.New(costing(text("Yes."))), gate}
	w := actortest.New(t, profiles(o), actortest.Config{Wrap: store.wrap, Config: actors.Config{Observer: tellsOfCalls{called: goesOn}}})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	<-begun // streamed text is being stored
	close(gate)
	require.Equal(t, "Yes.", call.Completed())
	require.EqualValues(t, 100, w.Turns(at)[0].Usage.Tokens())
}

// gatedEnd is an oracle whose answers end when the gate is open.
type gatedEnd struct {
	oracle.Oracle
	gate chan struct{}
}

func (o gatedEnd) Infer(ctx context.Context, req oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		o.Oracle.Infer(ctx, req)(yield)
		<-o.gate
	}
}

// tellsOfCalls closes a channel when the model call has ended.
type tellsOfCalls struct {
	actors.Unobserved
	called chan struct{}
}

func (o tellsOfCalls) ModelCalled(string, actors.CallOutcome, sessions.Usage, time.Duration) {
	close(o.called)
}
