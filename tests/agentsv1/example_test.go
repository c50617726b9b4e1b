package agentsv1

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"agenthost/host"
	face "agenthost/host/agentsv1"
	"agenthost/host/server"
	"agenthost/oracle/offline"
	"agenthost/persistence/memory"
	"agenthost/sessions"
)

// A program that holds a conversation by the SDK. Here it brings the host along; one
// that serves elsewhere is reached by its own address, with a key in the place of
// "none" if it asks for one.
func Example() {
	ctx := context.Background()
	profiles := map[string]host.Profile{sessions.DefaultProfile: {Oracle: offline.New()}}
	h, err := host.New(memory.New(memory.Config{}), profiles, host.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Stop()
	if err := h.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	served := httptest.NewServer(server.New(server.For(h), server.Config{Agents: face.New(h, face.Config{})}))
	defer served.Close()

	client := openai.NewClient(option.WithBaseURL(served.URL+"/v1"), option.WithAPIKey("none"))
	stream := client.Beta.Agents.Sessions.NewStreaming(ctx, openai.BetaAgentSessionNewParams{
		Environment: openai.EnvironmentParamUnion{OfParamNone: &openai.EnvironmentParamNone{}},
		Agent:       openai.BetaAgentSessionNewParamsAgent{Model: openai.String("default")},
		Input:       openai.BetaAgentSessionNewParamsInputUnion{OfString: openai.String("hello")},
	})
	for stream.Next() {
		switch event := stream.Current(); event.Type {
		case "agent.session.turn.output_text.done":
			fmt.Println(event.Text)
		case "agent.session.idle":
			fmt.Println(event.Session.Status)
		}
	}
	fmt.Println(stream.Err())
	// Output:
	// You said: hello
	// I am the offline oracle: I can recall, count and list what was said, and run tools (/call builtin/time {}).
	// idle
	// <nil>
}
