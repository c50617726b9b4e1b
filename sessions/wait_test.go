package sessions

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnswersFitTheKindOfTheirCall(t *testing.T) {
	output, failure := CallAnswer{Output: json.RawMessage(`null`)}, CallAnswer{Error: new(string)}
	verdict := CallAnswer{Approve: new(bool)}
	for _, a := range []CallAnswer{output, failure} {
		require.True(t, a.Answers(PendingClientTool))
		require.False(t, a.Answers(PendingApproval))
	}
	require.True(t, verdict.Answers(PendingApproval))
	require.False(t, verdict.Answers(PendingClientTool))
}

func TestNothingWaitsWhenAllIsAnswered(t *testing.T) {
	waited := WaitedCalls{Pending: []Pending{{CallID: "a"}, {CallID: "b"}}, Answers: map[CallID]CallAnswer{"a": {}}}
	require.False(t, waited.Answered())
	waited.Answers["b"] = CallAnswer{}
	require.True(t, waited.Answered())
}

func TestAnswersThatSayTheSameHaveOneDigest(t *testing.T) {
	output := func(raw string) CallAnswer { return CallAnswer{Output: json.RawMessage(raw)} }
	text := func(s string) CallAnswer { return CallAnswer{Error: &s} }
	verdict := func(ok bool) CallAnswer { return CallAnswer{Approve: &ok} }
	require.Equal(t, output(`{"a":1,"b":{"c":[1,2],"d":null}}`).Digest(), output(`{ "b": {"d":null,"c":[1, 2]}, "a":1}`).Digest())
	other := text("x")
	require.Equal(t, text("x").Digest(), other.Digest(), "what is pointed to counts")
	seen := map[[32]byte]int{}
	different := []CallAnswer{output(`null`), output(`{}`), output(`""`), output(`[1,2]`), output(`[2,1]`), output(`"x"`), output(`true`),
		output(`9007199254740993`), output(`9007199254740992`), text(""), text("x"), verdict(true), verdict(false)}
	for i, a := range different {
		other, known := seen[a.Digest()]
		require.False(t, known, "%d is as %d", i, other)
		seen[a.Digest()] = i
	}
}

func TestAnswersToACallAgree(t *testing.T) {
	answer := func(call CallID, a CallAnswer) GivenAnswer { return GivenAnswer{CallID: call, Answer: a} }
	yes, no := CallAnswer{Approve: new(true)}, CallAnswer{Approve: new(bool)}
	one, same := CallAnswer{Output: json.RawMessage(`{"a":1,"b":2}`)}, CallAnswer{Output: json.RawMessage(`{"b":2,"a":1}`)}
	agree := func(answers ...GivenAnswer) error {
		c := AnswerCalls{Answers: answers}
		return c.Agree(c.Digests())
	}
	require.NoError(t, agree())
	require.NoError(t, agree(answer("a", one), answer("b", yes), answer("a", same), answer("b", yes)))
	require.NoError(t, agree(answer("a", yes), answer("a", one)), "an approval is of another wait than an output")
	require.NoError(t, agree(answer("a", yes), answer("b", no)))
	require.ErrorIs(t, agree(answer("a", yes), answer("b", one), answer("a", no)), ErrOtherAnswer)
	require.ErrorIs(t, agree(answer("a", one), answer("a", CallAnswer{Error: new(string)})), ErrOtherAnswer)
}

// However many answers one command gives to a call, each of them is read once.
func TestManyAnswersToACallAreReadOnce(t *testing.T) {
	reading := func(n int) float64 {
		c := AnswerCalls{Answers: make([]GivenAnswer, n)}
		for i := range c.Answers {
			c.Answers[i] = GivenAnswer{CallID: "a", Answer: CallAnswer{Output: json.RawMessage(`[1,2,{"a":"b"},{"c":null}]`)}}
		}
		return testing.AllocsPerRun(10, func() { require.NoError(t, c.Agree(c.Digests())) })
	}
	require.Less(t, reading(64), 16*reading(8))
}

func TestAStepFitsToWhetherItsTurnWaits(t *testing.T) {
	call := []Pending{{CallID: "a", Kind: PendingApproval}}
	end, told := &TurnEnd{Status: TurnIsCancelled}, []FrameBody{ChildChanged{}}
	for _, c := range []CommitTurn{{}, {Steer: true}, {Wait: call}, {End: end}} {
		require.NoError(t, c.MayFollow(TurnIsRunning))
	}
	for _, c := range []CommitTurn{{GoOn: true}, {GoOn: true, Steer: true}, {End: end}, {Frames: told}} {
		require.NoError(t, c.MayFollow(TurnIsWaiting))
	}
	twice, nobody := []Pending{call[0], call[0]}, []Pending{{CallID: "a", Kind: "?"}}
	for _, c := range []CommitTurn{{GoOn: true}, {Wait: call, End: end}, {Wait: call, GoOn: true}, {Wait: call, Steer: true},
		{End: end, Steer: true}, {Wait: twice}, {Wait: nobody}} {
		require.Equal(t, CodeInternal, CodeOf(c.MayFollow(TurnIsRunning)), "%+v", c)
	}
	for _, c := range []CommitTurn{{}, {Steer: true}, {Wait: call}, {GoOn: true, End: end}, {Frames: told, Messages: []Message{{}}}, {Frames: told, Steer: true}} {
		require.Equal(t, CodeInternal, CodeOf(c.MayFollow(TurnIsWaiting)), "%+v", c)
	}
}
