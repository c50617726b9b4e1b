package actors_test

import (
	"context"
	"encoding/json"
	"iter"
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

// ledger is an oracle's own account of what it has reported. It outlives the
// oracles that write to it.
type ledger struct {
	mu    sync.Mutex
	total sessions.Usage
}

// keeping is an oracle that keeps a ledger.
type keeping struct {
	oracle.Oracle
	ledger *ledger
}

func (k keeping) Infer(ctx context.Context, req oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		for part, err := range k.Oracle.Infer(ctx, req) {
			if report, ok := part.(oracle.UsageReport); ok && err == nil {
				report.Usage.Calls = 1
				k.ledger.mu.Lock()
				k.ledger.total = k.ledger.total.Plus(report.Usage)
				k.ledger.mu.Unlock()
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

func (l *ledger) sum() sessions.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// used asks the store.
func used(t *testing.T, w *actortest.World, q sessions.UsageQuery) sessions.UsageReport {
	t.Helper()
	q.Owner = actortest.Owner
	sums, err := w.Store.Usage(t.Context(), q)
	require.NoError(t, err)
	return sessions.ReportUsage(sums)
}

// case 51: a parent and two children, one of them cut in its model call and taken
// up again; a kill is tried in tests/crash.
func TestCase51UsageOfATreeIsTheLedgersOverARestart(t *testing.T) {
	var l ledger
	o := func(slow scripted.Step) oracle.Oracle {
		return keeping{family(
			acts("work", costing(asks(`{"prompt":"quick part"}`, `{"prompt":"slow part"}`)), costing(text("done"))),
			acts("quick part", costing(text("one"))),
			acts("slow part", costing(scripted.Step{Calls: []scripted.Call{agentCall(`{"prompt":"below"}`)}}), costing(slow)),
			acts("below", costing(text("deep"))),
		), &l}
	}
	w := actortest.Open(t, profiles(o(scripted.Step{Text: "half", Hang: true}), delegating), actortest.Config{})
	at := actortest.Key("a")
	w.Send(at, "work", actortest.As("r")).Accepted()
	w.Eventually(func() bool { return l.sum().Calls == 4 }, "that one child has ended and one hangs in its second call")
	w.Eventually(func() bool {
		return used(t, w, sessions.UsageQuery{By: sessions.UsageByOwner}).Usage == l.sum()
	}, "that all of it is stored")

	w = cutAndReopen(t, w, profiles(o(text("two")), delegating), nil)
	require.Equal(t, "done", w.Send(at, "work", actortest.As("r")).Completed())
	require.EqualValues(t, 6, l.sum().Calls)
	life := w.Session(at).Fence.Incarnation
	tree := sessions.UsageQuery{By: sessions.UsageByTree, Life: life}
	require.Equal(t, l.sum(), used(t, w, tree).Usage)
	require.EqualValues(t, 2, used(t, w, sessions.UsageQuery{By: sessions.UsageBySession, Life: life}).Calls)
	require.Equal(t, w.Session(at).Usage, w.Turns(at)[0].Usage, "a turn taken up keeps what it had consumed")

	w.Delete(actortest.ID(refsOf(t, w, at)[0].SessionID))
	require.Less(t, used(t, w, tree).Calls, l.sum().Calls)
	w.Delete(at)
	require.Equal(t, l.sum(), used(t, w, sessions.UsageQuery{By: sessions.UsageByOwner}).Usage, "the owner's stays")
}

func TestUsageThatAToolReportsIsKeptApart(t *testing.T) {
	var kinds []error
	tool := invoke(func(ctx context.Context, call tools.Call) (json.RawMessage, error) {
		for _, kind := range []sessions.UsageKind{"search", "", sessions.UsageOfSideQuestions} {
			kinds = append(kinds, call.Turn.AddUsage(ctx, kind, "index", sessions.Usage{InputTokens: 7, Calls: 1}))
		}
		return json.RawMessage(`1`), nil
	})
	w := actortest.New(t, profiles(script(costing(calls("/t/one")), costing(text("done")))),
		actortest.Config{Config: actors.Config{Tools: treeOf(t, mounts{"/t/one": tool})}})
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	require.NoError(t, kinds[0])
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(kinds[1]))
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(kinds[2]))
	want := sessions.UsageReport{Usage: w.Session(at).Usage, Kinds: map[sessions.UsageKind]sessions.Usage{"search": {InputTokens: 7, Calls: 1}}}
	require.EqualValues(t, 200, want.Tokens())
	require.Equal(t, want, used(t, w, sessions.UsageQuery{By: sessions.UsageBySession, Life: w.Session(at).Fence.Incarnation}))
}
