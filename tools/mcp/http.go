package mcp

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"
)

// newHTTPClient returns a client for one session with the server at endpoint.
// The key goes to that server only, also when it redirects elsewhere. The session
// may take grace to be ended. cut ends all requests, and those to come.
func newHTTPClient(endpoint, key string, grace time.Duration) (_ *http.Client, cut func()) {
	at, err := url.Parse(endpoint)
	if err != nil { // every request will fail with the same
		at = &url.URL{}
	}
	life, end := context.WithCancel(context.Background())
	transport := http.DefaultTransport.(*http.Transport).Clone()
	cut = func() {
		end()
		transport.CloseIdleConnections()
	}
	return &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		if life.Err() != nil && req.Method == http.MethodGet {
			return answer(req, http.StatusMethodNotAllowed), nil // or the SDK tries for long
		}
		ctx, cancel := context.WithCancel(req.Context())
		if req.Method == http.MethodDelete {
			ctx, cancel = context.WithTimeout(req.Context(), grace)
		}
		unbind := context.AfterFunc(life, cancel)
		release := func() { unbind(); cancel() }
		req = req.Clone(ctx)
		if key != "" && req.URL.Scheme == at.Scheme && req.URL.Host == at.Host {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			release()
			return nil, err
		}
		if resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "" {
			// The session is lost. A body that says so would make the SDK take it for the
			// answer to the call, in a session that goes on.
			_ = resp.Body.Close()
			release()
			return answer(req, http.StatusNotFound), nil
		}
		resp.Body = &releasing{resp.Body, release}
		return resp, nil
	})}, cut
}

// roundTrip is a function as an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answer is a response without a body.
func answer(req *http.Request, status int) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}

// releasing is a body that releases its request when it is closed.
type releasing struct {
	io.ReadCloser
	release func()
}

// Close closes the body and releases the request.
func (r *releasing) Close() error {
	err := r.ReadCloser.Close()
	r.release()
	return err
}
