package actors_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// costing is a step that reports usage of 100 tokens.
func costing(s scripted.Step) scripted.Step {
	s.Usage = &sessions.Usage{InputTokens: 60, OutputTokens: 40, CachedTokens: 50}
	return s
}

// budget gives a profile one.
func budget(b actors.Budget) func(*actors.Profile) {
	return func(p *actors.Profile) { p.Budget = b }
}

// requireOver requires that a reply is a turn's that went over a budget.
func requireOver(t *testing.T, reply actors.PromptReply, limit string, max, used int64) {
	t.Helper()
	require.Equal(t, limit, reply.Err.Details["limit"])
	require.EqualValues(t, max, reply.Err.Details["max"])
	require.EqualValues(t, used, reply.Err.Details["used"])
	require.False(t, reply.Err.Info().Retryable)
}

func TestATurnOverItsBudgetEndsBetweenTwoModelCalls(t *testing.T) {
	for name, c := range map[string]struct {
		max   int64
		calls int
		used  int64
	}{
		"used up by the first call":  {100, 1, 100},
		"one token left":             {101, 2, 200},
		"more than one call goes in": {250, 3, 300},
	} {
		t.Run(name, func(t *testing.T) {
			step := costing(calls("/t/one", "/t/two"))
			step.Repeat = true
			o := script(step)
			w := world(t, o, mounts{"/t/one": output(`1`), "/t/two": output(`2`)}, budget(actors.Budget{TurnTokens: c.max}))
			at := actortest.Key("a")
			requireOver(t, w.Send(at, "work").Failed(sessions.CodePayloadTooLarge), "turnTokens", c.max, c.used)
			require.Len(t, o.Requests(), c.calls)
			require.Equal(t, c.used, w.Turns(at)[0].Usage.Tokens())

			history := w.History(at)
			require.Len(t, history, 1+3*c.calls)
			for _, result := range history[len(history)-2:] {
				require.Equal(t, sessions.RoleTool, result.Role)
				require.Nil(t, result.Error, "the calls of the last answer are run")
			}
			require.Equal(t, "fine", w.Say(at, "go on"), "the next turn has a budget of its own")
		})
	}
}

func TestAnAnswerThatUsesTheBudgetUpIsAnAnswer(t *testing.T) {
	w := world(t, script(costing(text("done"))), nil, budget(actors.Budget{TurnTokens: 1}))
	require.Equal(t, "done", w.Say(actortest.Key("a"), "work"))
}

func TestASessionOverItsBudgetMakesNoModelCall(t *testing.T) {
	o := script(costing(text("done")))
	w := world(t, o, nil, budget(actors.Budget{SessionTokens: 200}))
	at := actortest.Key("a")
	for range 2 {
		require.Equal(t, "done", w.Say(at, "work"))
	}
	requireOver(t, w.Send(at, "work").Failed(sessions.CodePayloadTooLarge), "sessionTokens", 200, 200)
	require.Len(t, o.Requests(), 2)
	require.Len(t, w.History(at), 5)
	require.Equal(t, "done", w.Say(actortest.Key("b"), "work"), "another session has its own")
}

func TestAnOwnerOverTheBudgetOfTheDayGoesOnTheNextDay(t *testing.T) {
	var now atomic.Int64
	now.Store(time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC).Unix())
	clock := func() time.Time { return time.Unix(now.Load(), 0) }
	w := actortest.New(t, profiles(script(costing(text("done")))), actortest.Config{
		Config: actors.Config{OwnerDayTokens: 205, Now: clock}})
	one, two := actortest.Key("a"), actortest.Key("b")
	w.Say(one, "work")
	w.Say(two, "work")
	life := w.Session(one).Fence.Incarnation
	add := func(kind sessions.UsageKind, tokens int64) {
		require.NoError(t, w.Store.AddUsage(t.Context(), sessions.AddUsage{
			Life: life, Kind: kind, Usage: sessions.Usage{InputTokens: tokens}, Now: sessions.TimeOf(clock())}))
	}
	add("search", 1000) // of a tool's own
	add(sessions.UsageOfSideQuestions, 4)
	require.Equal(t, "fine", w.Say(one, "hello"))
	add(sessions.UsageOfSideQuestions, 1)
	requireOver(t, w.Send(one, "work").Failed(sessions.CodePayloadTooLarge), "ownerDayTokens", 205, 205)
	w.Delete(two)
	requireOver(t, w.Send(two, "work").Failed(sessions.CodePayloadTooLarge), "ownerDayTokens", 205, 205)
	now.Add(3600)
	require.Equal(t, "done", w.Say(two, "work"))
}

func TestABudgetHoldsOverARestart(t *testing.T) {
	b := budget(actors.Budget{TurnTokens: 100})
	repeatable := func(p *actors.Profile) { p.Repeatable = []string{"/t"} }
	started := make(chan struct{}, 1)
	w := actortest.Open(t, profiles(script(costing(calls("/t/slow"))), b, repeatable), actortest.Config{
		Config: actors.Config{Tools: treeOf(t, mounts{"/t/slow": hang(started)})}})
	at := actortest.Key("a")
	w.Send(at, "work", actortest.As("r")).Accepted()
	<-started
	o := script(text("not asked"))
	w = cutAndReopen(t, w, profiles(o, b, repeatable), treeOf(t, mounts{"/t/slow": output(`1`)}))
	requireOver(t, w.Send(at, "work", actortest.As("r")).Failed(sessions.CodePayloadTooLarge), "turnTokens", 100, 100)
	require.Empty(t, o.Requests())
	require.JSONEq(t, `1`, string(lastResults(w.History(at))[0].Content[0].Value))
}

func TestAnOwnersBudgetIsNotNegative(t *testing.T) {
	_, err := actors.New(nil, profiles(script()), actors.Config{OwnerDayTokens: -1})
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
}
