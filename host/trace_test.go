package host_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// secret is what the content of a traced or logged run is made of.
const secret = "xylophone"

// tracedHost is a host whose spans are kept in memory.
func tracedHost(t *testing.T, o hosttest.Options) (*hosttest.Host, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.WithoutCancel(t.Context()))) })
	o.Config.Tracing = provider
	return hosttest.New(t, o), spans
}

// busyProfiles are profiles whose model calls two tools at once and another agent.
func busyProfiles() map[string]host.Profile {
	model := scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "everything", Steps: []scripted.Step{
			{Text: "I ask " + secret, Calls: []scripted.Call{
				{Path: "/test/one", Args: `{"word":"` + secret + `"}`}, {Path: "/test/two"},
				{Path: "/agents/helper", Args: `{"prompt":"help with ` + secret + `"}`},
			}},
			{Text: "done with " + secret},
		}},
		{When: "help", Steps: []scripted.Step{{Text: "helped " + secret}}},
		{When: "fail", Steps: []scripted.Step{{Fail: "no such model"}}},
	}})
	return map[string]host.Profile{
		sessions.DefaultProfile: {Oracle: model, System: "Be a " + secret, Tools: []string{"/test", "/agents"}},
		"helper":                {Oracle: model},
	}
}

// mountPair mounts two tools that run only side by side.
func mountPair(t *testing.T, h *hosttest.Host) {
	t.Helper()
	var both sync.WaitGroup
	both.Add(2)
	pair := tools.MustFunc("meets the other", func(_ context.Context, _ tools.Call, _ map[string]any) (string, error) {
		both.Done()
		both.Wait()
		return "met " + secret, nil
	})
	for _, path := range []string{"/test/one", "/test/two"} {
		require.NoError(t, h.System().Mount(path, pair))
	}
}

// outline draws spans as a tree, children sorted.
func outline(spans tracetest.SpanStubs, below trace.SpanID, indent string) string {
	var lines []string
	for _, s := range spans {
		if s.Parent.SpanID() != below {
			continue
		}
		line := indent + s.Name
		for _, a := range s.Attributes {
			switch a.Key {
			case "agenthost.profile", "agenthost.tool.path", "agenthost.step", "agenthost.turn.status", "agenthost.outcome":
				line += " " + a.Value.String()
			}
		}
		lines = append(lines, line+"\n"+outline(spans, s.SpanContext.SpanID(), indent+"  "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func TestSpansAreATreeAcrossActorsAndSubagents(t *testing.T) {
	h, spans := tracedHost(t, hosttest.Options{Profiles: busyProfiles()})
	mountPair(t, h)
	_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "everything about " + secret}, nil)
	require.NoError(t, err)

	all := spans.GetSpans()
	require.Equal(t, `prompt
  turn default completed
    model call 1 ok
    model call 2 ok
    tool call /agents/helper ok
      turn helper completed
        model call 1 ok
    tool call /test/one ok
    tool call /test/two ok
`, outline(all, trace.SpanID{}, ""))
	for _, s := range all {
		require.Equal(t, all[0].SpanContext.TraceID(), s.SpanContext.TraceID())
		require.NotContains(t, fmt.Sprintf("%+v", s), secret, "no content in a span")
	}
}

func TestSpansTellOfFailuresByCode(t *testing.T) {
	h, spans := tracedHost(t, hosttest.Options{Profiles: busyProfiles()})
	_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: "fail"}, nil)
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(err))
	told := map[string]string{}
	for _, s := range spans.GetSpans() {
		told[s.Name] = s.Status.Description
		require.NotContains(t, fmt.Sprintf("%+v", s), "no such model")
	}
	require.Equal(t, map[string]string{
		"prompt": string(sessions.CodeLLMAPIFailure), "turn": string(sessions.CodeLLMAPIFailure), "model call": "failed",
	}, told)
}

// The span that a caller names in its request's header, or in that of its
// WebSocket's handshake, is the parent of the prompt's.
func TestCallersGoOnTheirOwnTrace(t *testing.T) {
	const traceID, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	header := http.Header{"Traceparent": {"00-" + traceID + "-" + parent + "-01"}}
	const prompt = `{"id":"1","op":"$prompt","args":{"targetKey":"k","profileKey":"helper","text":"help"}}`

	t.Run("HTTP", func(t *testing.T) {
		h, spans := tracedHost(t, hosttest.Options{Profiles: busyProfiles()})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/v1/call", bytes.NewBufferString(prompt))
		require.NoError(t, err)
		r.Header = header.Clone()
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		http.DefaultClient.CloseIdleConnections()
		requirePart(t, spans.GetSpans(), traceID, parent)
	})
	t.Run("WebSocket", func(t *testing.T) {
		h, spans := tracedHost(t, hosttest.Options{Profiles: busyProfiles()})
		conn, _, err := websocket.Dial(t.Context(), h.URL+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{api.Subprotocol}, HTTPHeader: header})
		require.NoError(t, err)
		defer conn.CloseNow()
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(prompt)))
		_, _, err = conn.Read(t.Context())
		require.NoError(t, err)
		requirePart(t, spans.GetSpans(), traceID, parent)
	})
}

func requirePart(t *testing.T, spans tracetest.SpanStubs, traceID, parent string) {
	t.Helper()
	i := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == "prompt" })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, traceID, spans[i].SpanContext.TraceID().String())
	require.Equal(t, parent, spans[i].Parent.SpanID().String())
	require.Equal(t, "prompt\n  turn helper completed\n    model call 1 ok\n", outline(spans, spans[i].Parent.SpanID(), ""))
}
