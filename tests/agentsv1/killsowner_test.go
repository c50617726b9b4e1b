package agentsv1

import (
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// killedOwner is what the clients of one owner know.
type killedOwner struct {
	*killing
	name, key string
	client    openai.Client
	transport *http.Transport
	following sync.WaitGroup

	mu       sync.Mutex
	sessions []*killedSession
	agents   map[string]string // the name of each saved agent, by id; "" for one that is deleted
}

// killedSession is a session, and what was done to it.
type killedSession struct {
	id    string
	doing sync.Mutex // whoever changes it, but for cancels

	mu        sync.Mutex
	said      []*killedMessage
	results   map[string]bool // tokens of results: whether they were taken
	deleting  bool
	deleted   bool
	metadata  string
	followers []*killedFollower
}

// killedMessage is a message that a client has sent.
type killedMessage struct {
	token     string
	told      bool // the host has said that it has the message
	refused   bool
	withdrawn bool // a cancel came behind it, so that it may never have become part of the history
}

func newKilledOwner(k *killing, name string) *killedOwner {
	o := &killedOwner{killing: k, name: name, key: k.daemon.key(name), transport: &http.Transport{MaxIdleConnsPerHost: 8}, agents: map[string]string{}}
	o.client = k.daemon.client(o.key, option.WithHTTPClient(&http.Client{Transport: o}))
	return o
}

func (k *killing) fault(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.faults) < 20 {
		k.faults = append(k.faults, fmt.Sprintf(format, args...))
	}
}

func (k *killing) count(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counts[what]++
}

// RoundTrip lets a request pass, and looks at the status of its answer.
func (o *killedOwner) RoundTrip(r *http.Request) (*http.Response, error) {
	calm := o.calm.Load()
	response, err := o.transport.RoundTrip(r)
	if err == nil && response.StatusCode >= 500 && (response.StatusCode != 503 || calm && o.calm.Load()) {
		o.fault("%s %s: %d", r.Method, r.URL.Path, response.StatusCode)
	}
	return response, err
}

func (o *killedOwner) idle() { o.transport.CloseIdleConnections() }

func (o *killedOwner) all() []*killedSession {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.sessions)
}

func (o *killedOwner) sessionsAPI() *openai.BetaAgentSessionService {
	return &o.client.Beta.Agents.Sessions
}
