package tools

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

type lookupArgs struct {
	ID     string          `json:"id" jsonschema:"the order's number"`
	Limit  int8            `json:"limit,omitempty"`
	Since  sessions.Time   `json:"since,omitzero"`
	Extra  json.RawMessage `json:"extra,omitempty"`
	Tags   []string        `json:"tags,omitempty"`
	hidden string
	Nested struct {
		Count int `json:"count"`
	} `json:"nested,omitzero"`
}

type lookupOut struct {
	ID   string `json:"id"`
	Note string `json:"note"`
}

func mountTool(t *testing.T, tool Tool) *Mounted {
	t.Helper()
	var tree Tree
	require.NoError(t, tree.Mount("/tool", tool))
	m, _ := tree.Lookup("/tool")
	return m
}

func TestFuncDerivesTheSchema(t *testing.T) {
	tool := MustFunc("Finds an order.", func(context.Context, Call, lookupArgs) (lookupOut, error) { return lookupOut{}, nil })
	m := mountTool(t, tool)
	require.Equal(t, "Finds an order.", m.Spec.Description)
	require.False(t, m.Spec.Repeatable)
	require.Contains(t, string(m.Spec.Schema), "the order's number")
	require.NotContains(t, string(m.Spec.Schema), "hidden")

	for _, good := range []string{
		`{"id":"a"}`, `{"id":"a","limit":3,"since":"2026-01-02T03:04:05Z","extra":{"free":[1]},"tags":["x"],"nested":{"count":1}}`,
	} {
		require.NoError(t, m.CheckArgs([]byte(good)), good)
	}
	for _, bad := range []string{
		`{}`, `{"id":1}`, `{"ID":"a"}`, `{"id":"a","limit":"3"}`, `{"id":"a","limit":300}`, `{"id":"a","since":5}`, `{"id":"a","more":1}`, `{"id":"a","nested":{}}`,
	} {
		require.Error(t, m.CheckArgs([]byte(bad)), bad)
	}
}

func TestFuncRunsWithTypedArguments(t *testing.T) {
	want := Call{Owner: "o", SessionID: "s", TurnID: "t", CallID: "c", Path: "/tool",
		Args: json.RawMessage(`{"id":"7","limit":3,"since":"2026-01-02T03:04:05.000Z","extra":{"free":[1]}}`)}
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "carried")
	tool, err := Func("", func(ctx context.Context, call Call, in lookupArgs) (lookupOut, error) {
		require.Equal(t, "carried", ctx.Value(key{}))
		require.Equal(t, want, call)
		require.Equal(t, int8(3), in.Limit)
		require.Equal(t, "2026-01-02T03:04:05.000Z", in.Since.String())
		require.JSONEq(t, `{"free":[1]}`, string(in.Extra))
		require.Empty(t, in.hidden)
		return lookupOut{ID: in.ID, Note: "<a> & b"}, nil
	})
	require.NoError(t, err)
	out, err := tool.Invoke(ctx, want)
	require.NoError(t, err)
	require.Equal(t, `{"id":"7","note":"<a> & b"}`, string(out))
}

func TestFuncPassesErrorsOn(t *testing.T) {
	boom := errors.New("boom")
	for _, want := range []error{boom, &Failure{Message: "no such order"}, context.Canceled} {
		tool := MustFunc("", func(context.Context, Call, struct{}) (int, error) { return 7, want })
		out, err := tool.Invoke(t.Context(), Call{Args: json.RawMessage(`{}`)})
		require.ErrorIs(t, err, want)
		require.Nil(t, out)
	}
}

func TestFuncTellsWhatDoesNotFit(t *testing.T) {
	type args struct {
		In struct {
			N int64 `json:"n"`
		} `json:"in"`
	}
	m := mountTool(t, MustFunc("", func(context.Context, Call, args) (any, error) { return nil, nil }))
	raw := json.RawMessage(`{"in":{"n":1e30}}`)
	require.NoError(t, m.CheckArgs(raw), "the schema knows no size of integers")
	_, err := m.Tool.Invoke(t.Context(), Call{Args: raw})
	require.Equal(t, `The argument "/in/n" does not fit into the Go type int64.`, failureOf(t, err))

	_, err = m.Tool.Invoke(t.Context(), Call{Args: json.RawMessage(`{`)})
	require.Error(t, err)
}

func TestFuncReportsOutputThatIsNoJSON(t *testing.T) {
	tool := MustFunc("", func(context.Context, Call, struct{}) (func(), error) { return func() {}, nil })
	_, err := tool.Invoke(t.Context(), Call{Args: json.RawMessage(`{}`)})
	require.Error(t, err)
	_, failure := errors.AsType[*Failure](err)
	require.False(t, failure, "a fault of the tool is not for the model")
}

func TestFuncTakesMaps(t *testing.T) {
	m := mountTool(t, MustFunc("", func(_ context.Context, _ Call, in map[string]int) (int, error) { return in["a"] + in["b"], nil }))
	require.NoError(t, m.CheckArgs([]byte(`{"a":1,"b":2}`)))
	require.Error(t, m.CheckArgs([]byte(`{"a":"1"}`)))
	out, err := m.Tool.Invoke(t.Context(), Call{Args: json.RawMessage(`{"a":1,"b":2}`)})
	require.NoError(t, err)
	require.Equal(t, "3", string(out))
}

func TestFuncRefusesWhatIsNoObject(t *testing.T) {
	refused := func(_ Tool, err error) {
		t.Helper()
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
	}
	refused(Func("", func(context.Context, Call, string) (int, error) { return 0, nil }))
	refused(Func("", func(context.Context, Call, []string) (int, error) { return 0, nil }))
	refused(Func("", func(context.Context, Call, any) (int, error) { return 0, nil }))
	refused(Func("", func(context.Context, Call, *lookupArgs) (int, error) { return 0, nil }))
	refused(Func("", func(context.Context, Call, struct{ C chan int }) (int, error) { return 0, nil }))
	refused(Func("", func(context.Context, Call, json.RawMessage) (int, error) { return 0, nil }))
	require.Panics(t, func() { MustFunc("", func(context.Context, Call, int) (int, error) { return 0, nil }) })
}
