package sse

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"
)

// Writer writes one stream of events as the answer to a request. Status 200 and the
// headers go out with what is written first. Its methods may be called concurrently;
// after a write that has failed all of them return its error.
type Writer struct {
	w     http.ResponseWriter
	stall time.Duration

	mu    sync.Mutex
	begun bool
	err   error // of the first write that failed
}

// NewWriter returns a writer on w. stall is how long one write may take.
func NewWriter(w http.ResponseWriter, stall time.Duration) *Writer {
	return &Writer{w: w, stall: stall}
}

// Event writes one event. data is one line; an empty id leaves the reader's last one.
func (w *Writer) Event(name, id string, data []byte) error {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\n")
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	return w.write(b.Bytes())
}

// Position gives the reader an id to come back with before there is an event: readers
// take over the id and see no event, since there is no data.
func (w *Writer) Position(id string) error { return w.write([]byte("id: " + id + "\n\n")) }

// Comment writes one line that readers leave out.
func (w *Writer) Comment(text string) error { return w.write([]byte(":" + text + "\n\n")) }

// Begun reports whether anything was written, so that the answer has its status.
func (w *Writer) Begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun
}

// KeepAlive writes a comment each interval, once the stream has begun, until ctx ends
// or a write fails; then it calls lost. Nobody on the way takes the stream for dead.
func (w *Writer) KeepAlive(ctx context.Context, every time.Duration, comment string, lost func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if w.Begun() && w.Comment(comment) != nil {
			lost()
			return
		}
	}
}

func (w *Writer) write(p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if !w.begun {
		w.begun = true
		header := w.w.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("Cache-Control", "no-store")
		header.Set("X-Accel-Buffering", "no") // proxies would hold events back
		w.w.WriteHeader(http.StatusOK)
	}
	rc := http.NewResponseController(w.w)
	_ = rc.SetWriteDeadline(time.Now().Add(w.stall)) // not every writer has deadlines
	if _, w.err = w.w.Write(p); w.err == nil {
		w.err = rc.Flush()
	}
	return w.err
}
