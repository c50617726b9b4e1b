package anthropic

import (
	"context"
	"iter"
	"net/http"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"agenthost/oracle"
	"agenthost/oracle/provider"
	"agenthost/sessions"
)

// Config says which model to call and how. Model is required, and so is one of
// APIKey and BaseURL.
type Config struct {
	Model      string
	APIKey     string        // sent to BaseURL only, never logged
	BaseURL    string        // without /v1, such as http://127.0.0.1:8080; default is Anthropic's
	Name       string        // what Name returns; default "anthropic:" and Model
	MaxRetries int           // tries after the first; 0 means 3, negative none
	RetryPause time.Duration // before the first retry, doubling; 0 means 500 ms
	// HTTPClient makes the requests; it should have no overall timeout, since
	// an answer may stream for minutes. nil is a client of the oracle's own.
	HTTPClient *http.Client
}

// defaultBaseURL is where a configuration without BaseURL leads.
const defaultBaseURL = "https://api.anthropic.com"

// Oracle calls one model.
type Oracle struct {
	config Config
	caller provider.Caller
	client sdk.MessageService
}

// New returns an oracle for c, or INVALID_REQUEST naming what c lacks. It does
// not connect.
func New(c Config) (*Oracle, error) {
	switch {
	case c.Model == "":
		return nil, sessions.InvalidField("/model", "An oracle of the provider anthropic needs a model.")
	case c.APIKey == "" && c.BaseURL == "":
		return nil, sessions.InvalidField("/apiKey", "An oracle of the provider anthropic needs an API key or a base URL.")
	}
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
	}
	if err := provider.CheckBaseURL(c.BaseURL); err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = "anthropic:" + c.Model
	}
	if c.HTTPClient == nil {
		c.HTTPClient = provider.NewHTTPClient()
	}
	options := []option.RequestOption{
		option.WithBaseURL(c.BaseURL),
		option.WithHTTPClient(c.HTTPClient),
		option.WithMaxRetries(0), // the retries are the caller's
		option.WithMiddleware(provider.RefuseStatus),
		option.WithoutOpenTelemetry(), // the spans of model calls are the host's
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	caller := provider.Caller{Key: c.APIKey, MaxRetries: c.MaxRetries, RetryPause: c.RetryPause}
	return &Oracle{config: c, caller: caller, client: sdk.NewMessageService(options...)}, nil
}

// Name returns the configured name.
func (o *Oracle) Name() string { return o.config.Name }

// Infer makes one model call. Text arrives as the provider sends it; tool
// calls, usage and stop come once its stream has ended in order. A try that
// fails before its first part is repeated as the configuration says; one that
// fails after it ends the call. The API has no temperature, no topP and no seed.
func (o *Oracle) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		params, err := o.params(r)
		if err != nil {
			yield(nil, o.caller.Failure(err))
			return
		}
		o.caller.Infer(ctx, r.Messages, yield, func(ctx context.Context, a *provider.Answer) error {
			return o.attempt(ctx, params, a)
		})
	}
}
