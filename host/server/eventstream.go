package server

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"agenthost/host/api"
	"agenthost/sessions"
)

// eventStream writes server-sent events. The status and the headers go out with
// the first one. Its methods may be called concurrently.
type eventStream struct {
	w     http.ResponseWriter
	stall time.Duration // how long one write may take

	mu    sync.Mutex
	begun bool
	err   error // of the first write that failed
}

// frame writes a frame: as a delta without an id, or with its cursor as the id.
func (e *eventStream) frame(f sessions.Frame) error {
	if f.Type() == sessions.FrameDelta {
		return e.event("delta", "", f)
	}
	return e.event("frame", f.Cursor, f)
}

// event writes one event; an empty id leaves the reader's last one.
func (e *eventStream) event(name string, id sessions.Cursor, data any) error {
	body, err := api.Encode(data)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("event: " + name + "\n")
	if id != "" {
		b.WriteString("id: " + string(id) + "\n")
	}
	b.WriteString("data: ")
	b.Write(body) // JSON of one line
	b.WriteString("\n\n")
	return e.write(b.Bytes())
}

// position gives the reader an id to come back with before there is an event:
// readers take over the id and see no event, since there is no data.
func (e *eventStream) position(id sessions.Cursor) error {
	return e.write([]byte("id: " + string(id) + "\n\n"))
}

func (e *eventStream) write(p []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	first := !e.begun
	if first {
		e.begun = true
		header := e.w.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("X-Accel-Buffering", "no") // proxies would hold frames back
		e.w.WriteHeader(http.StatusOK)
	}
	rc := http.NewResponseController(e.w)
	_ = rc.SetWriteDeadline(time.Now().Add(e.stall)) // not every writer has deadlines
	if _, e.err = e.w.Write(p); e.err == nil {
		e.err = rc.Flush()
	}
	if first {
		_ = rc.SetReadDeadline(time.Time{}) // of a body, which is behind the reader by now
	}
	return e.err
}

func (e *eventStream) hasBegun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.begun
}

// keepAlive writes a comment each interval, once the stream has begun, until ctx
// ends or a write fails; then it calls lost.
func (e *eventStream) keepAlive(ctx context.Context, every time.Duration, lost func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if e.hasBegun() && e.write([]byte(":\n\n")) != nil {
			lost()
			return
		}
	}
}
