package openai

import (
	"context"
	"iter"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"agenthost/oracle"
	"agenthost/oracle/provider"
)

// Config says which model to call and how. A BaseURL is with /v1, such as http://127.0.0.1:11434/v1.
type Config = provider.Config

// defaultBaseURL is where a configuration without BaseURL leads.
const defaultBaseURL = "https://api.openai.com/v1"

// Oracle calls one model.
type Oracle struct {
	config Config
	caller provider.Caller
	client sdk.ChatCompletionService
}

// New returns an oracle for c, or INVALID_REQUEST naming what c lacks. It does
// not connect.
func New(c Config) (*Oracle, error) {
	c, err := c.Complete("openai", defaultBaseURL)
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{
		option.WithBaseURL(c.BaseURL),
		option.WithHTTPClient(c.HTTPClient),
		option.WithMaxRetries(0), // the retries are the caller's
		option.WithMiddleware(provider.RefuseStatus),
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	return &Oracle{config: c, caller: c.Caller(), client: sdk.NewChatCompletionService(options...)}, nil
}

// Name returns the configured name.
func (o *Oracle) Name() string { return o.config.Name }

// Infer makes one model call. Text arrives as the provider sends it; tool
// calls, usage and stop come once its stream has ended in order. A try that
// fails before its first part is repeated as the configuration says; one that
// fails after it ends the call.
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
