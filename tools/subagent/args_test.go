package subagent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/tools"
)

func TestArgumentsThatFitTogether(t *testing.T) {
	for raw, want := range map[string]args{
		`{"prompt":"p"}`:                                  {Prompt: "p", Action: ask},
		`{"prompt":"p","name":"n"}`:                       {Prompt: "p", Name: "n", Action: ask},
		`{"prompt":"p","name":"n","action":"message"}`:    {Prompt: "p", Name: "n", Action: message},
		`{"name":"n","action":"spawn"}`:                   {Name: "n", Action: spawn},
		`{"name":"n","action":"spawn","prompt":"p"}`:      {Prompt: "p", Name: "n", Action: spawn},
		`{"name":"n","action":"wait"}`:                    {Name: "n", Action: wait},
		`{"name":"n","action":"terminate"}`:               {Name: "n", Action: terminate},
		`{"action":"list"}`:                               {Action: list},
		`{"prompt":"p","name":"the one, who knows: ä&/"}`: {Prompt: "p", Name: "the one, who knows: ä&/", Action: ask},
	} {
		got, err := readArgs(json.RawMessage(raw))
		require.NoError(t, err, raw)
		require.Equal(t, want, got, raw)
	}
}

func TestArgumentsThatDoNotFitTogether(t *testing.T) {
	for raw, says := range map[string]string{
		`{}`:                              "needs a prompt",
		`{"action":"message","name":"n"}`: "needs a prompt",
		`{"action":"wait","name":"n","prompt":"p"}`:    "takes no prompt",
		`{"action":"list","prompt":"p"}`:               "takes no prompt",
		`{"action":"terminate","name":"n","prompt":1}`: "cannot unmarshal",
		`{"action":"spawn","prompt":"p"}`:              "needs the name",
		`{"action":"wait"}`:                            "needs the name",
		`{"action":"list","name":"n"}`:                 "takes no name",
		`{"prompt":"p","name":"a\u0007"}`:              "printable",
	} {
		_, err := readArgs(json.RawMessage(raw))
		require.ErrorContains(t, err, says, raw)
	}
}

// The schema lets through what a call may be, and nothing that no call is.
func TestTheSchema(t *testing.T) {
	tree := &tools.Tree{}
	require.NoError(t, Mount(tree, "default"))
	m, ok := tree.Lookup("/agents/default")
	require.True(t, ok)
	require.NoError(t, m.CheckArgs([]byte(`{"prompt":"p","name":"n","action":"ask"}`)))
	for _, raw := range []string{
		`{"prompt":1}`, `{"action":"fly"}`, `{"promt":"p"}`, `{"prompt":"p","name":""}`,
		`{"prompt":"p","name":"` + strings.Repeat("n", 65) + `"}`,
	} {
		require.Error(t, m.CheckArgs([]byte(raw)), raw)
	}
}
