package provider

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"agenthost/sessions"
)

// Config says which model to call and how. Model is required, and so is one of
// APIKey and BaseURL. It is the configuration of every adapter.
type Config struct {
	Model      string
	APIKey     string        // sent to BaseURL only, never logged
	BaseURL    string        // what the adapter's paths are added to; default is the provider's
	Name       string        // what Name returns; default is the provider and Model
	MaxRetries int           // tries after the first; 0 means 3, negative none
	RetryPause time.Duration // before the first retry, doubling; 0 means 500 ms
	// HTTPClient makes the requests; it should have no overall timeout, since
	// an answer may stream for minutes. nil is a client of the oracle's own.
	HTTPClient *http.Client
}

// Complete returns c with the defaults of a provider whose own API is at baseURL,
// or INVALID_REQUEST naming what it lacks.
func (c Config) Complete(provider, baseURL string) (Config, error) {
	switch {
	case c.Model == "":
		return c, sessions.InvalidField("/model", "An oracle of the provider %s needs a model.", provider)
	case c.APIKey == "" && c.BaseURL == "":
		return c, sessions.InvalidField("/apiKey", "An oracle of the provider %s needs an API key or a base URL.", provider)
	}
	c.BaseURL = cmp.Or(c.BaseURL, baseURL)
	if u, err := url.Parse(c.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, sessions.InvalidField("/baseURL", "A base URL is absolute and begins with http:// or https://.")
	}
	c.Name = cmp.Or(c.Name, provider+":"+c.Model)
	if c.HTTPClient == nil {
		c.HTTPClient = newHTTPClient()
	}
	return c, nil
}

// Caller returns what makes the calls that c describes.
func (c Config) Caller() Caller {
	return Caller{Key: c.APIKey, MaxRetries: c.MaxRetries, RetryPause: c.RetryPause}
}

// idleConnections is how many connections to the provider are kept for reuse.
const idleConnections = 64

func newHTTPClient() *http.Client {
	client := &http.Client{}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		own := t.Clone()
		own.MaxIdleConnsPerHost = idleConnections
		client.Transport = own
	}
	return client
}
