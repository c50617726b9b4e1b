package adaptertest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/oracle"
	"agenthost/oracle/provider"
	"agenthost/oracle/provider/providertest"
	"agenthost/sessions"
)

// Key is the API key of configured oracles. No error may show it.
const Key = "sk-secret-1234"

// Adapter is an adapter, with its API's words for what all APIs can say. Events
// are bytes of a stream.
type Adapter struct {
	API providertest.API
	New func(provider.Config) (oracle.Oracle, error)

	Text  func(deltas ...string) providertest.Reply           // an answer of text
	Calls func(calls ...providertest.Call) providertest.Reply // an answer of calls

	Start []string                        // the events before an answer
	Say   func(text string) []string      // the events of an answer that begins with text
	Call  func(i int) string              // the event that begins the i-th call of an answer
	Args  func(i int, text string) string // the event that adds to its arguments
	Half  string                          // an event that is cut short
	Error func(message string) string     // the event that reports an error
	// Broken are other events after which a stream is not to be trusted.
	Broken map[string]string
	// TooLong are bodies of status 400 that say that the model's context window
	// does not take the request, and TooLongEvents events that do.
	TooLong, TooLongEvents map[string]string
}

// Run runs the suite.
func (a Adapter) Run(t *testing.T) {
	for name, test := range map[string]func(*testing.T, Adapter){
		"what is missing is named":                      testMissing,
		"the key is sent only if there is one":          testKey,
		"text arrives as it is sent":                    testTextAsItIsSent,
		"bytes may be split anywhere":                   testSplitBytes,
		"what is wrong with a call is passed on":        testCallsAsTheyCame,
		"missing and repeated call ids are replaced":    testCallIDs,
		"a break after text fails the call":             testBreakAfterText,
		"a break before the first part is retried":      testBreakBefore,
		"an empty answer is retried once":               testEmpty,
		"passing statuses are retried":                  testPassingStatuses,
		"retries end":                                   testRetriesEnd,
		"other statuses are not retried":                testOtherStatuses,
		"a request that is too long is told apart":      testOverflow,
		"a server that is not there fails the call":     testNoServer,
		"retries wait as asked":                         testWaits,
		"the context ends a pause":                      testContextEndsPause,
		"the context ends the call and its connection":  testContextEndsCall,
		"breaking off ends the connection":              testBreakingOff,
		"calls of too many bytes fail the call at once": testTooManyBytes,
	} {
		t.Run(name, func(t *testing.T) { test(t, a) })
	}
}

// Server starts a server of the API that plays script.
func (a Adapter) Server(t *testing.T, script ...providertest.Reply) *providertest.Server {
	t.Helper()
	return providertest.New(t, a.API, script...)
}

// Oracle returns an oracle of server that pauses briefly before retries. change,
// when not nil, may change its configuration.
func (a Adapter) Oracle(t *testing.T, server *providertest.Server, change func(*provider.Config)) oracle.Oracle {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := provider.Config{
		Model: "m", APIKey: Key, BaseURL: server.BaseURL(), RetryPause: time.Millisecond,
		HTTPClient: &http.Client{Transport: transport},
	}
	if change != nil {
		change(&c)
	}
	o, err := a.New(c)
	require.NoError(t, err)
	return o
}

// Ask sends "hi" to a server that plays script.
func (a Adapter) Ask(t *testing.T, script ...providertest.Reply) (Answer, *providertest.Server) {
	t.Helper()
	server := a.Server(t, script...)
	return Infer(t.Context(), a.Oracle(t, server, nil), Hi()), server
}

// Hi is a request of one message.
func Hi() oracle.Request {
	return oracle.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Content: sessions.Text("hi")}}}
}

// Answer is an answer put together from its parts.
type Answer struct {
	Text  string
	Calls []oracle.ToolCall
	Usage *sessions.Usage
	Stop  oracle.StopReason
	Err   error
}

// Infer makes one call.
func Infer(ctx context.Context, o oracle.Oracle, r oracle.Request) Answer {
	var a Answer
	for part, err := range o.Infer(ctx, r) {
		switch part := part.(type) {
		case oracle.TextDelta:
			a.Text += part.Text
		case oracle.ToolCall:
			a.Calls = append(a.Calls, part)
		case oracle.UsageReport:
			a.Usage = &part.Usage
		case oracle.Stop:
			a.Stop = part.Reason
		}
		a.Err = err
	}
	return a
}

// RequireFailure requires that the call failed, that the provider's text is in
// the cause alone, and the key nowhere.
func (a Answer) RequireFailure(t *testing.T, providerText string) {
	t.Helper()
	require.Equal(t, sessions.CodeLLMAPIFailure, sessions.CodeOf(a.Err))
	e := sessions.AsError(a.Err)
	shown, err := json.Marshal(e.Info())
	require.NoError(t, err)
	require.NotContains(t, e.Error(), Key)
	if providerText != "" {
		require.NotContains(t, string(shown), providerText)
		require.ErrorContains(t, e.Cause, providerText)
	}
	require.Empty(t, a.Stop)
}
