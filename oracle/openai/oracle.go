package openai

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"agenthost/oracle"
	"agenthost/sessions"
)

// Config says which model to call and how. Model is required, and so is one of
// APIKey and BaseURL.
type Config struct {
	Model      string
	APIKey     string        // sent to BaseURL only, never logged
	BaseURL    string        // such as http://127.0.0.1:11434/v1; default is OpenAI's
	Name       string        // what Name returns; default "openai:" and Model
	MaxRetries int           // tries after the first; 0 means 3, negative none
	RetryPause time.Duration // before the first retry, doubling; 0 means 500 ms
	// Temperature is from 0 to 2; nil leaves it to the provider.
	Temperature *float64
	// HTTPClient makes the requests; it should have no overall timeout, since
	// an answer may stream for minutes. nil is a client of the oracle's own.
	HTTPClient *http.Client
}

// defaultBaseURL is where a configuration without BaseURL leads.
const defaultBaseURL = "https://api.openai.com/v1"

// idleConnections is how many connections to the provider are kept for reuse.
const idleConnections = 64

// Oracle calls one model.
type Oracle struct {
	config Config
	client sdk.ChatCompletionService
}

// New returns an oracle for c, or INVALID_REQUEST naming what c lacks. It does
// not connect.
func New(c Config) (*Oracle, error) {
	switch {
	case c.Model == "":
		return nil, sessions.InvalidField("/model", "An oracle of the provider openai needs a model.")
	case c.APIKey == "" && c.BaseURL == "":
		return nil, sessions.InvalidField("/apiKey", "An oracle of the provider openai needs an API key or a base URL.")
	}
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
	}
	if u, err := url.Parse(c.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, sessions.InvalidField("/baseURL", "A base URL is absolute and begins with http:// or https://.")
	}
	c.fill()
	options := []option.RequestOption{
		option.WithBaseURL(c.BaseURL),
		option.WithHTTPClient(c.HTTPClient),
		option.WithMaxRetries(0), // the retries are this package's
		option.WithMiddleware(refuseStatus),
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	return &Oracle{config: c, client: sdk.NewChatCompletionService(options...)}, nil
}

// fill replaces zero values by their defaults.
func (c *Config) fill() {
	if c.Name == "" {
		c.Name = "openai:" + c.Model
	}
	if c.MaxRetries == 0 {
		c.MaxRetries = 3
	}
	if c.RetryPause <= 0 {
		c.RetryPause = 500 * time.Millisecond
	}
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{}
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			own := t.Clone()
			own.MaxIdleConnsPerHost = idleConnections
			c.HTTPClient.Transport = own
		}
	}
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
			yield(nil, o.failure(err))
			return
		}
		retries := o.retries()
		for {
			a := answer{yield: yield, used: callIDs(r.Messages), fresh: len(r.Messages) + 1}
			err := o.attempt(ctx, params, &a)
			switch {
			case a.left:
				return
			case err == nil:
				a.finish()
				return
			case ctx.Err() != nil:
				yield(nil, ctx.Err())
				return
			case a.started || !retries.again(err):
				yield(nil, o.failure(err))
				return
			}
			if err := retries.pause(ctx, err); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}
