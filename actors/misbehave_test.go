package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/sessions"
	"agenthost/tools"
)

// broken is an error whose methods do not work on a nil pointer.
type broken struct{ text string }

func (b *broken) Error() string { return b.text }

func TestToolsThatMisbehaveFailTheirCallAndNothingElse(t *testing.T) {
	fails := func(err error) invoke {
		return func(context.Context, tools.Call) (json.RawMessage, error) { return nil, err }
	}
	var noFailure *tools.Failure
	var noError *sessions.Error
	var noBroken *broken
	nested := strings.Repeat("[", 9_998) + strings.Repeat("]", 9_998)
	for name, c := range map[string]struct {
		tool invoke
		code sessions.Code
	}{
		"a nil failure":            {fails(noFailure), sessions.CodeToolInvokeFailed},
		"a nil error of the host":  {fails(noError), sessions.CodeToolInvokeFailed},
		"a nil error of its own":   {fails(noBroken), sessions.CodeToolInvokeFailed},
		"details that are no JSON": {fails(sessions.Errorf(sessions.CodeToolInvokeFailed, "No.").With("f", func() {})), sessions.CodeToolInvokeFailed},
		"a failure of megabytes":   {fails(&tools.Failure{Message: strings.Repeat("x", 2<<20)}), sessions.CodePayloadTooLarge},
		"JSON of too many levels":  {output(nested), sessions.CodeToolInvokeFailed},
		"the end of its goroutine": {func(context.Context, tools.Call) (json.RawMessage, error) { runtime.Goexit(); return nil, nil }, sessions.CodeToolInvokeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t, script(calls("/t/bad", "/t/good"), text("done")), mounts{"/t/bad": c.tool, "/t/good": output(`"<&>"`)})
			require.Equal(t, "done", w.Say(actortest.Key("a"), "work"))
			results := lastResults(w.History(actortest.Key("a")))
			require.Len(t, results, 2)
			require.NotNil(t, results[0].Error)
			require.Equal(t, c.code, results[0].Error.Code)
			require.Equal(t, `"<&>"`, string(results[1].Content[0].Value), "the model reads it as it was written")
			_, err := json.Marshal(w.History(actortest.Key("a")))
			require.NoError(t, err)
		})
	}
}

func TestArgumentsOfTooManyLevelsNeverReachTheTool(t *testing.T) {
	args := strings.Repeat(`{"a":`, 9_999) + "1" + strings.Repeat("}", 9_999)
	step := calls("/t/any")
	step.Calls[0].Args = args
	w := world(t, script(step, text("done")), mounts{"/t/any": invoke(func(context.Context, tools.Call) (json.RawMessage, error) {
		return nil, errors.New("it was called")
	})})
	require.Equal(t, "done", w.Say(actortest.Key("a"), "work"))
	results := lastResults(w.History(actortest.Key("a")))
	require.Len(t, results, 1)
	require.Contains(t, results[0].Error.Message, "levels")
	_, err := json.Marshal(w.History(actortest.Key("a")))
	require.NoError(t, err)
}

func TestAnOracleThatEndsItsGoroutineFailsTheTurn(t *testing.T) {
	w := world(t, oracleFunc(func(context.Context, oracle.Request, func(oracle.Part, error) bool) { runtime.Goexit() }), nil)
	w.Send(actortest.Key("a"), "hello").Failed(sessions.CodeInternal)
	require.Equal(t, sessions.TurnIsFailed, w.Turns(actortest.Key("a"))[0].Status)
}

// What a provider reports is added to totals of the session, and of its owner's
// day: a sum that cannot be stored would block every session of the owner.
func TestUsageThatNoCallHasIsBounded(t *testing.T) {
	w := world(t, oracleFunc(func(_ context.Context, _ oracle.Request, yield func(oracle.Part, error) bool) {
		absurd := sessions.Usage{InputTokens: math.MaxInt64, OutputTokens: -5, CachedTokens: 7, Calls: math.MaxInt64}
		_ = yield(oracle.TextDelta{Text: "fine"}, nil) && yield(oracle.UsageReport{Usage: absurd}, nil)
	}), nil)
	for range 3 {
		require.Equal(t, "fine", w.Say(actortest.Key("a"), "hello"))
	}
	require.Equal(t, "fine", w.Say(actortest.Key("b"), "hello"))
	usage := w.Session(actortest.Key("a")).Usage
	require.Positive(t, usage.InputTokens)
	require.Zero(t, usage.OutputTokens)
	require.EqualValues(t, 21, usage.CachedTokens)
	require.EqualValues(t, 3, usage.Calls)
}

func TestCallsCountAsWhatTheModelWrote(t *testing.T) {
	step := calls("/t/any", "/t/any")
	for i := range step.Calls {
		step.Calls[i].Args = `{"x":"` + strings.Repeat("x", 600<<10) + `"}`
	}
	w := actortest.New(t, profiles(script(step, text("done"))), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/any": output("1")}), Limits: sessions.Limits{TurnTextBytes: 1 << 20}}})
	reply := w.Send(actortest.Key("a"), "work").Failed(sessions.CodePayloadTooLarge)
	require.Equal(t, "turnTextBytes", reply.Err.Details["limit"])
	require.Len(t, w.History(actortest.Key("a")), 1, "none of the calls is kept")
	require.Equal(t, "fine", w.Say(actortest.Key("a"), "go on"))
}

func TestDeltasMayCutCharacters(t *testing.T) {
	for written, kept := range map[string]string{
		"aé€🙂z":         "aé€🙂z",
		"🙂":             "🙂",
		"a\xff\xe2\x82": "a\uFFFD\uFFFD",
		"\xf0\x9f\x99":  "\uFFFD",
	} {
		w := world(t, oracleFunc(func(_ context.Context, _ oracle.Request, yield func(oracle.Part, error) bool) {
			for i := range len(written) {
				if !yield(oracle.TextDelta{Text: written[i : i+1]}, nil) {
					return
				}
			}
		}), nil)
		require.Equal(t, kept, w.Say(actortest.Key("a"), "hello"))
		var shown string
		for _, f := range w.Frames(actortest.Key("a")) {
			if part, ok := f.Body.(sessions.TextPart); ok {
				shown += part.Text
			}
		}
		require.Equal(t, kept, shown)
	}
}
