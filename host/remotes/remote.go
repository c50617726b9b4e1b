package remotes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"agenthost/host/client"
	"agenthost/sessions"
	"agenthost/tools"
	"agenthost/tools/subagent"
)

// Config is what a Remote may be told besides its address. Zero values are the
// defaults.
type Config struct {
	// Key is sent as the bearer of every request; "" sends none.
	Key string
	// Grace is how long the other host may be out of reach before its children are
	// lost; default 30 s.
	Grace time.Duration
	// HTTPClient makes the connections; see client.Config.
	HTTPClient *http.Client
	Now        func() time.Time // default: time.Now
}

const (
	defaultGrace = 30 * time.Second
	// answerBytes is more than any turn's text takes as JSON within the default
	// limits, and little enough to be read many times at once.
	answerBytes = 32 << 20
)

// Remote is another agenthost whose agents can be sub-agents here.
type Remote struct {
	name, url string
	config    Config

	mu     sync.Mutex
	client *client.Client // nil until the host has answered once
}

// New returns the host at a URL under a name that refs know it by.
func New(name, url string, c Config) *Remote {
	c.Grace = cmp.Or(c.Grace, defaultGrace)
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Remote{name: name, url: url, config: c}
}

// Mount mounts profiles of the other host. Whether it has them, it says when they
// are asked. The error is the tree's.
func (r *Remote) Mount(tree *tools.Tree, profiles ...string) error {
	for _, profile := range profiles {
		about := fmt.Sprintf("of the profile %q on the host %q", profile, r.name)
		if err := tree.Mount(subagent.Root+"/"+r.name+"/"+profile, subagent.New(profile, about, r.at)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Remote) at(call tools.Call, profile string) (subagent.Place, error) {
	home, ok := call.Turn.(subagent.Home)
	if !ok {
		return nil, &tools.Failure{Message: "This host cannot keep sub-agents."}
	}
	return &place{remote: r, call: call, home: home, profile: profile}, nil
}

// Close lets go of idle connections. Calls under way go on.
func (r *Remote) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		r.client.Close()
	}
}

const (
	attemptFor = 10 * time.Second // for which an answer is waited for that should come at once
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// reach asks the other host for something that may be asked again, and does so
// for as long as it is out of reach, up to the grace period. Then it is
// SUBAGENT_LOST. Other errors are the other host's, or ctx's.
func (r *Remote) reach(ctx context.Context, ask func(context.Context, *client.Client) error) error {
	lostAt := time.Now().Add(r.config.Grace)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := r.attempt(ctx, ask)
		left := time.Until(lostAt)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !outOfReach(err):
			return err
		case left <= 0:
			return r.errLost("has been out of reach for too long").Because(err)
		}
		select {
		case <-time.After(min(pause, left)): // so that the last try comes at the end of the grace
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// attempt asks the other host once.
func (r *Remote) attempt(ctx context.Context, ask func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, min(attemptFor, r.config.Grace))
	defer cancel()
	c, err := r.dial(ctx)
	if err != nil {
		return err
	}
	return ask(ctx, c)
}

// dial returns the way to the other host, once that has answered for the first time.
func (r *Remote) dial(ctx context.Context) (*client.Client, error) {
	r.mu.Lock()
	known := r.client
	r.mu.Unlock()
	if known != nil {
		return known, nil
	}
	dialed, err := client.Dial(ctx, r.url, client.Config{Key: r.config.Key, HTTPClient: r.config.HTTPClient, AnswerBytes: answerBytes})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil { // another call was faster
		dialed.Close()
		return r.client, nil
	}
	r.client = dialed
	return dialed, nil
}

// outOfReach reports whether err may pass: there was no answer, or a host that
// stops, starts, or cannot reach its store.
func outOfReach(err error) bool {
	if errors.Is(err, client.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	code := sessions.CodeOf(err)
	return code == sessions.CodeHostStopping || code == sessions.CodeStoreUnavailable
}

func (r *Remote) errLost(why string) *sessions.Error {
	return sessions.Errorf(sessions.CodeSubagentLost, "The sub-agent is lost: the host %q %s.", r.name, why).With("host", r.name)
}
