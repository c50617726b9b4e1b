package agentsv1

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// Path is the root of what a Handler answers.
const Path = "/v1/agents"

// face keeps the claims of this API apart from those of others.
const face = "agents"

// Config is what a Handler may be told. Zero values are the defaults.
type Config struct {
	// Authenticate says who makes a request; nil takes everyone for
	// sessions.LocalOwner.
	Authenticate func(*http.Request) (api.Caller, error)
	// Stay returns a context for an event stream of a caller, which ends when the
	// caller may not stay, and what to call when the stream has ended; nil lets
	// everyone stay.
	Stay func(context.Context, api.Caller) (context.Context, context.CancelFunc, error)
	// Logger gets what clients are not told; nil discards it.
	Logger *slog.Logger
	// Limits bound requests; EnvelopeBytes and MessageBytes are used here. A field
	// that is zero means that of sessions.DefaultLimits.
	Limits sessions.Limits
	// CommentEvery is the time between comments of an event stream; 15 s.
	CommentEvery time.Duration
	// StallAfter is how long a connection may take nothing before it is cut; 30 s.
	StallAfter time.Duration
	// BodyTimeout is how long the body of a request may take to arrive; 30 s.
	BodyTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Authenticate == nil {
		c.Authenticate = func(*http.Request) (api.Caller, error) { return api.Caller{Owner: sessions.LocalOwner}, nil }
	}
	if c.Stay == nil {
		c.Stay = func(ctx context.Context, _ api.Caller) (context.Context, context.CancelFunc, error) {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel, nil
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Limits = c.Limits.OrDefaults()
	c.CommentEvery = cmp.Or(c.CommentEvery, 15*time.Second)
	c.StallAfter = cmp.Or(c.StallAfter, 30*time.Second)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, 30*time.Second)
	return c
}

// Handler answers the requests of the API. It is safe for concurrent use.
type Handler struct {
	host   *host.Host
	config Config
}

// New returns a Handler that answers from h.
func New(h *host.Host, c Config) *Handler { return &Handler{h, c.withDefaults()} }

// visit is one request whose caller is known.
type visit struct {
	*Handler
	w      http.ResponseWriter
	r      *http.Request
	caller api.Caller
	access *host.Access
	query  url.Values // of the URL, once the route is known
}

// ServeHTTP answers one request. Event streams end with the request's context.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", newRequestID())
	defer func() {
		if p := recover(); p != nil {
			h.fail(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if err := h.serve(w, r); err != nil {
		h.fail(w, r, err)
	}
}

// Refuse answers a request that whoever serves the Handler does not let in.
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("X-Request-Id", newRequestID())
	h.fail(w, r, err)
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	caller, err := h.config.Authenticate(r)
	if err != nil {
		return err
	}
	if beta := r.Header.Values("OpenAI-Beta"); len(beta) != 1 || beta[0] != "agents=v1" {
		return &problem{status: http.StatusBadRequest, Type: typeBeta, Code: typeBeta,
			Message: "This API is in beta: send the header OpenAI-Beta once, with the value agents=v1."}
	}
	caller.Face = face
	v := &visit{Handler: h, w: w, r: r, caller: caller, access: h.host.As(caller)}
	return v.route()
}

// fail answers with an error, and logs what the client is not told.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if ctx := r.Context(); ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = gone(ctx)
	}
	p := problemOf(err)
	if p.status >= http.StatusInternalServerError && sessions.CodeOf(err) != sessions.CodeHostStopping {
		h.config.Logger.Error("request failed", "path", r.URL.Path, "error", err)
	}
	p.write(w, h.config.StallAfter)
}

func newRequestID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return "req_" + hex.EncodeToString(id[:])
}

func (v *visit) ctx() context.Context { return v.r.Context() }
