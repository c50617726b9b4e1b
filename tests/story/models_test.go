package story

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle/anthropic/anthropictest"
	"agenthost/oracle/openai/openaitest"
	"agenthost/sessions"
)

// What is said to the main model, and makes it do what the story needs.
const (
	lookUp   = "look it up, and remember that you did"
	beBrief  = "and be brief"
	tell     = "tell me a story"
	howLong  = "is it long?"
	pick     = "let me pick"
	askScout = "ask the scout"
)

// tale is a story in two parts; the second is told once gate is closed.
var tale = []string{"Once upon a time ", "there was a host."}

// said is a message of a request to the main model.
type said struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// text is the message's text, in whichever form it came.
func (s said) text() string {
	var text string
	if json.Unmarshal(s.Content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(s.Content, &parts)
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// lastSaid returns what the user said last in a request to the main model, and the
// results that came after it.
func lastSaid(t *testing.T, r openaitest.Request) (user string, results []string) {
	t.Helper()
	var body struct{ Messages []said }
	require.NoError(t, json.Unmarshal(r.Body, &body))
	for _, m := range body.Messages {
		switch m.Role {
		case "user":
			user, results = m.text(), nil
		case "tool":
			results = append(results, m.text())
		}
	}
	return user, results
}

// mainModel answers as the story goes. It goes on with its tale once gate is
// closed.
func mainModel(t *testing.T, gate <-chan struct{}) *openaitest.Server {
	t.Helper()
	return openaitest.NewFunc(t, func(r openaitest.Request) openaitest.Reply {
		user, results := lastSaid(t, r)
		switch {
		case user == lookUp && len(results) == 0:
			return openaitest.Calls(
				openaitest.Call{ID: "1", Name: sessions.FunctionName("/mcp/files/echo"), Args: `{"text":"what the file says"}`},
				openaitest.Call{ID: "2", Name: sessions.FunctionName("/repl"), Args: `{"code":"let seen = 1; seen"}`})
		case user == beBrief:
			return openaitest.Text("It says it.")
		case user == tell:
			reply := openaitest.Text(tale...)
			reply.Pieces[2].Gate = gate // behind the role and the first part
			return reply
		case strings.HasPrefix(user, howLong): // aside, which is said behind it
			return openaitest.Text("Two ", "parts.")
		case user == pick && len(results) == 0:
			return openaitest.Calls(openaitest.Call{ID: "1", Name: sessions.FunctionName("/client/pick"), Args: `{"from":["red","blue"]}`})
		case user == pick && len(results) == 1:
			return openaitest.Calls(openaitest.Call{ID: "2", Name: sessions.FunctionName("/repl"), Args: `{"code":"++seen"}`})
		case user == askScout && len(results) == 0:
			return openaitest.Calls(openaitest.Call{ID: "1", Name: sessions.FunctionName("/agents/scout"), Args: `{"prompt":"go and see"}`})
		case user == askScout && len(results) == 1:
			return openaitest.Calls(openaitest.Call{ID: "2", Name: sessions.FunctionName("/mcp/files/pid"), Args: `{}`})
		default:
			return openaitest.Text("Done: ", strings.Join(results, " "))
		}
	})
}

// scoutModel is the model of the sub-agent.
func scoutModel(t *testing.T) *anthropictest.Server {
	t.Helper()
	return anthropictest.NewFunc(t, func(r anthropictest.Request) anthropictest.Reply {
		var body struct{ Messages []json.RawMessage }
		require.NoError(t, json.Unmarshal(r.Body, &body))
		if len(body.Messages) == 1 {
			return anthropictest.Calls(anthropictest.Call{ID: "t1", Name: sessions.FunctionName("/builtin/echo"), Args: `{"text":"a river"}`})
		}
		return anthropictest.Text("I saw ", "a river.")
	})
}
