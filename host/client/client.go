package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// Config is what a Client can be told. Zero values are the defaults.
type Config struct {
	// Key is sent as the bearer of every request; "" sends none.
	Key string
	// HTTPClient makes the connections; its transport decides how, and must be
	// able to upgrade them. nil dials on its own, TCP or a Unix socket, without a
	// timeout on calls, since a turn may take long.
	HTTPClient *http.Client
	// AnswerBytes bounds what is read of one answer, and of one message of a
	// stream; default 256 MiB. A larger one is PAYLOAD_TOO_LARGE, and what was
	// asked has happened.
	AnswerBytes int64
}

const defaultAnswerBytes = 256 << 20

// Client is a way to one host.
type Client struct {
	base *url.URL
	key  string
	http *http.Client
	owns bool  // http was made here
	most int64 // bytes of an answer
}

// ErrUnreachable is, by errors.Is, every error of the way to the host and back.
var ErrUnreachable = errors.New("no host is reachable")

// NobodyListens reports whether err is that there was never a connection, so that
// nothing can have happened.
func NobodyListens(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func unreachable(cause error) error { return fmt.Errorf("%w: %w", ErrUnreachable, cause) }

// Dial returns a Client for the host at address once that has answered:
// "http://127.0.0.1:7777", "https://…", "127.0.0.1:7777", or "unix:///path" for
// a Unix socket. An address without a scheme has a port. ctx bounds the wait for
// the answer.
func Dial(ctx context.Context, address string, config Config) (*Client, error) {
	c, err := newClient(address, config)
	if err != nil {
		return nil, err
	}
	if err := c.checkHealth(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func newClient(address string, config Config) (*Client, error) {
	base, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	c := &Client{base: base, key: config.Key, http: config.HTTPClient, most: cmp.Or(config.AnswerBytes, defaultAnswerBytes)}
	switch {
	case base.Scheme == "unix" && c.http != nil:
		return nil, errors.New("a client with an HTTPClient of its own takes no unix:// address; let its transport dial the socket")
	case base.Scheme == "unix":
		path := base.Path
		c.base = &url.URL{Scheme: "http", Host: "localhost"}
		c.http, c.owns = newHTTPClient(func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}), true
	case c.http == nil:
		c.http, c.owns = newHTTPClient(nil), true
	}
	return c, nil
}

// newHTTPClient returns a client that dials with dial, or as usual when nil.
func newHTTPClient(dial func(context.Context) (net.Conn, error)) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = false // an HTTP/2 connection cannot become a WebSocket here
	if dial != nil {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	}
	return &http.Client{Transport: transport}
}

// Close lets go of idle connections. Calls and subscriptions under way go on.
// An HTTPClient that was given is left alone.
func (c *Client) Close() {
	if c.owns {
		c.http.CloseIdleConnections()
	}
}

// authorize puts the key into the header of a request.
func (c *Client) authorize(header http.Header) {
	if c.key != "" {
		header.Set("Authorization", "Bearer "+c.key)
	}
}
