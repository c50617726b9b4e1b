package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testInference looks at what a turn asks of models: it is kept as it was given,
// and a retry asks the same.
func testInference(t *testing.T, f Factory) {
	zero, seed := 0.0, int64(1<<62)
	full := sessions.Inference{
		Params:       sessions.Params{Temperature: &zero, TopP: new(0.1), MaxTokens: 9, Seed: &seed, Effort: "low"},
		AnswerSchema: json.RawMessage(`{"z":"<&>","a":{"maximum":9007199254740993}}`),
	}
	for name, asked := range map[string]sessions.Inference{"nothing": {}, "all": full, "a zero": {Params: sessions.Params{Seed: new(int64)}}} {
		f.run(t, name+" is kept", func(t *testing.T) {
			w := newWorld(t, f)
			c := w.prompt(byKey("doc", "writer"), "question")
			c.Inference = asked
			a := w.accept(c)
			require.Equal(t, asked, a.Turn.Inference)
			w.end(a, sessions.TurnIsFailed, failure(sessions.CodeLLMAPIFailure))
			if f.Reopen != nil {
				w.reopen()
			}
			kept, err := w.store.Turn(t.Context(), a.Session.Fence.Incarnation, c.TurnID)
			require.NoError(t, err)
			require.Equal(t, asked, kept.Inference)
			again := w.retry(byKey("doc", "writer"), c.TurnID)
			again.Inference = sessions.Inference{Params: sessions.Params{MaxTokens: 1}}
			require.Equal(t, asked, w.accept(again).Turn.Inference, "a retry asks as the turn that it takes up")
		})
	}
}
