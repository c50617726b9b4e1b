package server

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Agents answers the Agents API.
type Agents interface {
	http.Handler
	// Refuse answers a request that is not let in, in the words of that API.
	Refuse(w http.ResponseWriter, r *http.Request, err error)
}

// Config is what a Server can be told. Zero values are the defaults.
type Config struct {
	// Logger gets what clients are not told; nil discards it.
	Logger *slog.Logger
	// Limits bound requests; EnvelopeBytes, RequestsInFlight and Connections are used
	// here. A field that is zero means that of sessions.DefaultLimits.
	Limits sessions.Limits
	// Origins are those besides the host's own whose pages a browser may call
	// from: "example.com", or with its scheme "https://example.com". With a port
	// if it has one; no patterns. Without Authenticate they are also names under which
	// a host on a loopback address may be reached, beside those of its machine.
	Origins []string
	// Authenticate says who makes a request; an error's code answers it before
	// anything else is read. Bearer makes one that knows keys. nil takes everyone
	// for sessions.LocalOwner, and lets them administer.
	Authenticate func(*http.Request) (api.Caller, error)
	// Readmit is asked again about whom Authenticate has let in: before each request
	// of a WebSocket, with 1, and with 0 when the question is only whether a
	// connection may stay. nil lets everyone in for as long as they like.
	Readmit func(caller api.Caller, requests int) error
	// Observer hears of requests, to be counted; nil for nobody.
	Observer Observer
	// TLS secures the connections of TCP listeners; its NextProtos must leave HTTP/1.1
	// as the only protocol. nil leaves them as they are.
	TLS *tls.Config
	// Metrics answers GET /metrics; nil means that there is nothing at that path.
	Metrics http.Handler
	// Agents answers /v1/agents, /v1/vaults and all below them, which are that API's;
	// nil means that there is nothing at these paths. It finds out by itself who makes a request.
	Agents Agents
	// PingEvery is the time between pings of a WebSocket; 20 s.
	PingEvery time.Duration
	// StallAfter is how long a connection may take nothing before it is cut; 30 s.
	StallAfter time.Duration
	// CommentEvery is the time between comments of an event stream; 15 s.
	CommentEvery time.Duration
	// BodyTimeout is how long the body of a request may take to arrive; 30 s.
	BodyTimeout time.Duration
	// DrainFor is how long Serve waits for requests to end once its context has
	// ended; 15 s.
	DrainFor time.Duration
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	if c.Authenticate == nil {
		c.Authenticate = everyoneIsLocal
	}
	if c.Readmit == nil {
		c.Readmit = func(api.Caller, int) error { return nil }
	}
	c.Limits = c.Limits.OrDefaults()
	c.PingEvery = cmp.Or(c.PingEvery, 20*time.Second)
	c.StallAfter = cmp.Or(c.StallAfter, 30*time.Second)
	c.CommentEvery = cmp.Or(c.CommentEvery, 15*time.Second)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, 30*time.Second)
	c.DrainFor = cmp.Or(c.DrainFor, 15*time.Second)
	return c
}

func everyoneIsLocal(*http.Request) (api.Caller, error) {
	return api.Caller{Owner: sessions.LocalOwner, Admin: true, Home: true}, nil
}
