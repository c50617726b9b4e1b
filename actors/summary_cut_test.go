package actors_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// hangs is a step that says something and never ends.
var hangs = scripted.Step{Text: "They", Hang: true}

// awaitSummary waits until the n-th request of an oracle was made, a summary's.
func awaitSummary(t *testing.T, o *scripted.StrictOracle, n int) {
	t.Helper()
	require.NoError(t, o.Await(t.Context(), n))
	require.True(t, isSummary(o.Requests()[n-1]))
}

func TestACancelReachesASummary(t *testing.T) {
	o := scripted.Strict(scripted.New(turnsBefore(overflow, hangs, text("Yes."))...))
	w := world(t, o, nil)
	at := actortest.Key("a")
	saidBefore(w, at)
	call := w.Send(at, "work")
	awaitSummary(t, o, 4)
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	require.Empty(t, summaries(w, at))
	require.Len(t, w.History(at), 5, "what the summary said is no answer")
	require.Equal(t, sessions.StatusIdle, w.Session(at).Status)
	require.Equal(t, "Yes.", w.Say(at, "go on"))
}

func TestTheTimeOfATurnEndsASummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := scripted.Strict(scripted.New(turnsBefore(overflow, hangs, text("Yes."))...))
		w := actortest.NewInBubble(t, profiles(o, func(p *actors.Profile) { p.PromptTimeout = time.Minute }), actortest.Config{})
		at := actortest.Key("a")
		saidBefore(w, at)
		began := time.Now()
		w.Send(at, "work").Failed(sessions.CodeAgentTimeout)
		require.Equal(t, time.Minute, time.Since(began))
		require.Empty(t, summaries(w, at))
		require.Equal(t, "Yes.", w.Say(at, "go on"))
	})
}

func TestADeleteEndsASummary(t *testing.T) {
	o := scripted.Strict(scripted.New(turnsBefore(overflow, hangs, text("Yes."))...))
	w := world(t, o, nil)
	at := actortest.Key("a")
	saidBefore(w, at)
	call := w.Send(at, "work")
	awaitSummary(t, o, 4)
	require.NotNil(t, w.Delete(at).Receipt)
	call.Failed(sessions.CodeSessionDeleted)
	require.Equal(t, "Yes.", w.Say(at, "first"))
	require.Len(t, o.Requests()[4].Messages, 1)
}

// A turn that is cut before its summary is stored makes another one when it is
// taken up; one that is cut behind it goes on with the one there is.
func TestATurnCutAroundItsSummaryGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		first, second []scripted.Step
		requests      int // of the first host
		told          int // summaries at the end
	}{
		"in the summary's call": {turnsBefore(overflow, hangs),
			[]scripted.Step{overflow, text("They met."), text("Yes.")}, 4, 1},
		"in the repeated call": {turnsBefore(overflow, text("They met."), hangs),
			[]scripted.Step{text("Yes.")}, 5, 1},
		"in the second summary's call": {turnsBefore(overflow, text("They met."), overflow, hangs),
			[]scripted.Step{overflow, text("They met again."), text("Yes.")}, 6, 2},
	} {
		t.Run(name, func(t *testing.T) {
			first := scripted.Strict(scripted.New(c.first...))
			w := actortest.Open(t, profiles(first), actortest.Config{})
			at := actortest.Key("a")
			saidBefore(w, at)
			w.Send(at, "work", actortest.As("r")).Accepted()
			require.NoError(t, first.Await(t.Context(), c.requests))
			second := scripted.Strict(scripted.New(c.second...))
			w = cutAndReopen(t, w, profiles(second), nil)
			require.Equal(t, "Yes.", w.Send(at, "work", actortest.As("r")).Completed())
			told := summaries(w, at)
			require.Len(t, told, c.told)
			for i, s := range told {
				require.Equal(t, i+1, s.Attempt, "they are counted over the restart")
			}
			require.Len(t, w.History(at), 6)
			requests := second.Requests()
			last := requests[len(requests)-1]
			require.Contains(t, sessions.TextOf(last.Messages[0].Content), told[c.told-1].Text)
			require.Equal(t, "work", sessions.TextOf(last.Messages[len(last.Messages)-1].Content))
		})
	}
}

// Summaries are counted for one model call, also when the turn is taken up in the
// next one.
func TestATurnTakenUpCountsTheSummariesOfItsCallAlone(t *testing.T) {
	tree := treeOf(t, mounts{"/t/one": output(`1`)})
	first := scripted.Strict(scripted.New(turnsBefore(overflow, text("They met."), calls("/t/one"), hangs)...))
	w := actortest.Open(t, profiles(first), actortest.Config{Config: actors.Config{Tools: tree}})
	at := actortest.Key("a")
	saidBefore(w, at)
	w.Send(at, "work", actortest.As("r")).Accepted()
	require.NoError(t, first.Await(t.Context(), 6))
	second := scripted.Strict(scripted.New(overflow, text("They went on."), text("Yes.")))
	w = cutAndReopen(t, w, profiles(second), tree)
	require.Equal(t, "Yes.", w.Send(at, "work", actortest.As("r")).Completed())
	told := summaries(w, at)
	require.Len(t, told, 2)
	require.Equal(t, 1, told[1].Attempt)
}

func TestASummaryWaitsForAStoreThatIsAway(t *testing.T) {
	g := &gatedStore{}
	o := scripted.Strict(scripted.New(turnsBefore(overflow, text("They met."), text("Yes."))...))
	w := actortest.New(t, profiles(o), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	saidBefore(w, at)
	g.set(func(g *gatedStore) {
		g.onCommit = func(c sessions.CommitTurn) error {
			if c.Summary == (sessions.Summary{}) {
				return nil
			}
			return away
		}
	})
	call := w.Send(at, "work", actortest.As("r"))
	w.Eventually(func() bool { return g.refusals() > 1 }, "that it is tried again")
	require.Len(t, o.Requests(), 4, "the model is not asked before the summary is stored")
	call.Failed(sessions.CodeStoreUnavailable)
	g.set(func(g *gatedStore) { g.onCommit = nil })
	require.Equal(t, "Yes.", w.Send(at, "work", actortest.As("r")).Completed())
	require.Len(t, summaries(w, at), 1)
	require.EqualValues(t, 3, w.Turns(at)[2].Usage.Calls)
}

func TestTextThatSteersComesBeforeTheRepeatedCall(t *testing.T) {
	gate := make(chan struct{})
	o := scripted.Strict(scripted.New(turnsBefore(overflow, scripted.Step{Gate: gate, Text: "They met."}, text("Yes."))...))
	w := world(t, o, nil)
	at := actortest.Key("a")
	saidBefore(w, at)
	call := w.Send(at, "work")
	awaitSummary(t, o, 4)
	steer := w.Send(at, "and quickly", func(p *actors.Prompt) { p.Busy = sessions.BusySteer })
	steer.Accepted()
	close(gate)
	require.Equal(t, "Yes.", call.Completed())
	require.Equal(t, "Yes.", steer.Completed())
	asked := o.Requests()[4].Messages
	require.Equal(t, "work", sessions.TextOf(asked[len(asked)-2].Content))
	require.Equal(t, "and quickly", sessions.TextOf(asked[len(asked)-1].Content))
}

// Wherever a conversation is cut, each call has its result: the strict oracle
// refuses anything else.
func TestWhateverIsSummarisedWhatIsLeftIsValid(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not for secrets
	for round := range 12 {
		var steps []scripted.Step
		const turns = 20
		for range turns {
			for range random.IntN(4) {
				steps = append(steps, calls([]string{"/t/one", "/t/two", "/t/one"}[:1+random.IntN(3)]...))
			}
			steps = append(steps, text(strings.Repeat("so ", random.IntN(60)+1)))
		}
		window := 3000 + random.IntN(2500)
		o := scripted.Strict(narrow{scripted.New(steps...), window})
		w := world(t, o, mounts{"/t/one": output(`"` + strings.Repeat("1", random.IntN(300)) + `"`), "/t/two": output(`2`)})
		at := actortest.Key("a")
		for i := range turns {
			reply := w.Send(at, fmt.Sprint("turn ", i, strings.Repeat(" x", random.IntN(100)))).Reply()
			require.Nil(t, reply.Err, "seed %d, round %d, window %d, turn %d", seed, round, window, i)
		}
		w.History(at)
	}
}
