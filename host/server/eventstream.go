package server

import (
	"agenthost/host/api"
	"agenthost/host/sse"
	"agenthost/sessions"
)

// eventStream writes frames and other values as server-sent events. Its methods may be
// called concurrently.
type eventStream struct{ *sse.Writer }

// frame writes a frame: as a delta without an id, or with its cursor as the id.
func (e eventStream) frame(f sessions.Frame) error {
	if f.Type() == sessions.FrameDelta {
		return e.event("delta", "", f)
	}
	return e.event("frame", f.Cursor, f)
}

// event writes one event; an empty id leaves the reader's last one.
func (e eventStream) event(name string, id sessions.Cursor, data any) error {
	body, err := api.Encode(data)
	if err != nil {
		return err
	}
	return e.Event(name, string(id), body)
}
