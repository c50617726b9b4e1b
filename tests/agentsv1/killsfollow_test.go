package agentsv1

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// killedFollower follows the events of a session over all that cuts its stream.
type killedFollower struct {
	owner   *killedOwner
	session *killedSession
	create  string // the body that makes the session
	key     string
	rand    *rand.Rand
	first   seen // written before the session is known to others

	mu     sync.Mutex
	events []seen
	ids    map[string]bool
	cuts   int
	gone   bool
}

// follow makes the session and follows it until ctx ends, or the session is gone.
// created is closed once there is the first event.
func (f *killedFollower) follow(ctx context.Context, created chan struct{}) {
	f.ids = map[string]bool{}
	for ctx.Err() == nil {
		response, err := f.attach(ctx)
		if err != nil || response.StatusCode == 503 {
			if err == nil {
				_ = response.Body.Close()
			}
			time.Sleep(10 * time.Millisecond) // the host is gone, and comes back
			continue
		}
		if response.StatusCode != 200 {
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode == 404 && f.session.isDeleting() {
				f.mu.Lock()
				f.gone = true
				f.mu.Unlock()
				return
			}
			f.owner.fault("a stream behind %q of %s is answered %d: %s", f.last().data, f.session.id, response.StatusCode, text)
			return
		}
		f.read(response.Body, created)
		_ = response.Body.Close()
		f.mu.Lock()
		f.cuts++
		f.mu.Unlock()
	}
}

func (f *killedFollower) last() seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) == 0 {
		return seen{}
	}
	return f.events[len(f.events)-1]
}

func (f *killedFollower) isGone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gone
}

// attach opens the stream, of the creation as long as no event of it has come.
func (f *killedFollower) attach(ctx context.Context) (*http.Response, error) {
	method, path, body := http.MethodPost, "/v1/agents/sessions", f.create
	last := f.last()
	if last.id != "" {
		method, path, body = http.MethodGet, "/v1/agents/sessions/"+gjson.Get(f.first.data, "session.id").String()+"/events", ""
	}
	return f.owner.request(ctx, method, path, body, last.id, f.key)
}

// request makes a request without the SDK.
func (o *killedOwner) request(ctx context.Context, method, path, body, last, key string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+o.daemon.address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Authorization": {"Bearer " + o.key}, "Openai-Beta": {"agents=v1"}}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", key)
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	return o.RoundTrip(request)
}

// read takes in events until the stream is cut, or is left by itself.
func (f *killedFollower) read(body io.Reader, created chan struct{}) {
	leave := 1 + f.rand.IntN(40)
	for e := range eventsIn(body) {
		if e.name == "error" {
			f.owner.fault("a stream of %s ends with %s", f.session.id, e.data)
			return
		}
		if e.id == "" || gjson.Get(e.data, "event_id").String() != e.id || gjson.Get(e.data, "type").String() != e.name {
			f.owner.fault("an event is not whole: %v", e)
		}
		f.mu.Lock()
		if f.ids[e.id] {
			f.owner.fault("event %s of %s comes twice: %s", e.id, f.session.id, e.data)
		}
		f.ids[e.id] = true
		f.events = append(f.events, e)
		first := len(f.events) == 1
		f.mu.Unlock()
		if first {
			f.first = e
			close(created)
		}
		if leave--; leave == 0 {
			return
		}
	}
}

// eventsIn are the whole events of a stream.
func eventsIn(body io.Reader) func(func(seen) bool) {
	return func(yield func(seen) bool) {
		lines := bufio.NewReader(body)
		var e seen
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if e.data != "" && !yield(e) {
					return
				}
				if e.data != "" {
					e = seen{}
				}
			}
		}
	}
}

// statusEvent reports whether an event tells the session's status.
func statusEvent(e seen) bool { return gjson.Get(e.data, "session.status").Exists() }
