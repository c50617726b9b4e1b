package tests

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle"
	"agenthost/oracle/anthropic"
	"agenthost/oracle/anthropic/anthropictest"
	"agenthost/oracle/openai"
	"agenthost/oracle/openai/openaitest"
	"agenthost/oracle/provider"
	"agenthost/oracle/provider/providertest"
	"agenthost/sessions"
	"agenthost/tools"
)

// wire is a model's API, with its words for what a model says.
type wire struct {
	serve func(testing.TB, ...providertest.Reply) *providertest.Server
	model func(provider.Config) (oracle.Oracle, error)
	text  func(...string) providertest.Reply
	calls func(...providertest.Call) providertest.Reply
}

var wires = map[string]wire{
	"openai": {openaitest.New, func(c provider.Config) (oracle.Oracle, error) { return openai.New(c) }, openaitest.Text, openaitest.Calls},
	"anthropic": {anthropictest.New, func(c provider.Config) (oracle.Oracle, error) { return anthropic.New(c) },
		anthropictest.Text, anthropictest.Calls},
}

// start starts a host whose default profile asks a model of the API.
func (w wire) start(t *testing.T, script ...providertest.Reply) (*hosttest.Host, *providertest.Server) {
	t.Helper()
	server := w.serve(t, script...)
	model, err := w.model(provider.Config{Model: "m", BaseURL: server.BaseURL(), APIKey: "k", MaxRetries: -1})
	require.NoError(t, err)
	return hosttest.New(t, hosttest.Options{Profiles: map[string]host.Profile{
		sessions.DefaultProfile: {Oracle: model, System: "be brief", Tools: hosttest.AllTools()},
	}}), server
}

// heldAt is a reply that stops before the piece with a text until gate is closed.
func heldAt(r providertest.Reply, text string, gate <-chan struct{}) providertest.Reply {
	for i, piece := range r.Pieces {
		if strings.Contains(piece.Data, text) {
			r.Pieces[i].Gate = gate
		}
	}
	return r
}

// requireBegins requires that a request has all of an earlier one, byte for byte,
// and more messages behind those.
func requireBegins(t *testing.T, request, earlier providertest.Request) (added []string) {
	t.Helper()
	before, rest := piecesOf(t, earlier.Body)
	after, restAfter := piecesOf(t, request.Body)
	require.Equal(t, rest, restAfter, "system text, tools, parameters")
	require.Greater(t, len(after), len(before))
	require.Equal(t, before, after[:len(before)])
	return after[len(before):]
}

// piecesOf cuts a body into what its messages are made of, and all else. Blocks are
// taken out of their messages: one API joins messages of one role.
func piecesOf(t *testing.T, body []byte) (pieces []string, rest map[string]json.RawMessage) {
	t.Helper()
	require.NoError(t, json.Unmarshal(body, &rest))
	var messages []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(rest["messages"], &messages))
	delete(rest, "messages")
	for _, m := range messages {
		var blocks []json.RawMessage
		if json.Unmarshal(m["content"], &blocks) != nil {
			whole, err := json.Marshal(m)
			require.NoError(t, err)
			pieces = append(pieces, string(whole))
			continue
		}
		for _, block := range blocks {
			pieces = append(pieces, string(m["role"])+" "+string(block))
		}
	}
	return pieces, rest
}

var echoCall = providertest.Call{ID: "a", Name: sessions.FunctionName(tools.EchoPath), Args: `{"text":"hi"}`}

func askAside(t *testing.T, h *hosttest.Host, question string) string {
	t.Helper()
	got, err := h.Client.SideQuestion(t.Context(), api.SideQuestionArgs{Address: atK, Question: question})
	require.NoError(t, err)
	return got.Text
}

// The question's request begins with that of the turn which runs, so that what the
// provider has in its cache for the turn serves the question too.
func TestASideQuestionBeginsWithTheTurnsRequest(t *testing.T) {
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			before, after := make(chan struct{}), make(chan struct{})
			turn := heldAt(heldAt(w.text("half an ", "answer"), "half an ", before), "answer", after)
			h, model := w.start(t, w.calls(echoCall), turn, w.text("first"), w.text("second"), w.text("third"), w.text("fourth"))
			s := h.Socket()
			id := s.Request(api.OpPrompt, api.PromptArgs{Address: atK, Text: "work", Stream: true})
			require.NoError(t, model.Await(t.Context(), 2))
			require.Equal(t, "first", askAside(t, h, "why?"))
			close(before)
			for text := ""; text == ""; {
				m := s.Read()
				require.NotNil(t, m.Frame, m.Text)
				if delta, ok := m.Frame.Body.(sessions.Delta); ok {
					text = delta.Text
				}
			}
			require.Equal(t, "second", askAside(t, h, "what then?"))
			close(after)
			_, reply := s.Reply(id)
			require.Equal(t, "half an answer", sessions.TextOf(hosttest.Result[api.PromptResult](t, reply).Message.Content))
			require.Equal(t, "third", askAside(t, h, "and now?"))
			h.Restart()
			require.Equal(t, "fourth", askAside(t, h, "and now?"))

			requests := model.Requests()
			require.Len(t, requests, 6)
			requireBegins(t, requests[1], requests[0])
			added := requireBegins(t, requests[2], requests[1])
			require.Len(t, added, 1)
			require.Contains(t, added[0], "why?")
			added = requireBegins(t, requests[3], requests[1])
			require.Len(t, added, 2)
			require.Contains(t, added[0], "half an ")
			require.NotContains(t, added[0], "answer")
			require.Contains(t, added[1], "what then?")
			added = requireBegins(t, requests[4], requests[1])
			require.Len(t, added, 2)
			require.Contains(t, added[0], "half an answer")
			require.Equal(t, string(requests[4].Body), string(requests[5].Body), "the same from memory and from the store")
		})
	}
}

func TestASideQuestionWhileACallIsUnderWay(t *testing.T) {
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			started, gate := make(chan struct{}, 1), make(chan struct{})
			slow := providertest.Call{ID: "b", Name: sessions.FunctionName("/test/slow"), Args: "{}"}
			h, model := w.start(t, w.calls(echoCall, slow), w.text("because"), w.text("done"))
			require.NoError(t, h.System().Mount("/test/slow", tools.MustFunc("waits", func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
				started <- struct{}{}
				select {
				case <-gate:
				case <-ctx.Done():
				}
				return "over", nil
			})))
			answer := make(chan error, 1)
			go func() {
				_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "work"}, nil)
				answer <- err
			}()
			<-started
			require.Equal(t, "because", askAside(t, h, "why?"))
			close(gate)
			require.NoError(t, <-answer)
			requests := model.Requests()
			added := requireBegins(t, requests[1], requests[0])
			require.Contains(t, added[len(added)-1], "why?")
			require.Equal(t, 2, strings.Count(strings.Join(added, "\n"), "no result yet"))
			final := requireBegins(t, requests[2], requests[0])
			require.NotContains(t, strings.Join(final, "\n"), "no result yet")
			require.NotContains(t, strings.Join(final, "\n"), "why?")
		})
	}
}
