package agentsv1

import (
	"context"
	"encoding/json"

	"agenthost/sessions"
)

// event is one event of a stream. make builds its members when it is to be sent.
type event struct {
	at   position
	name string
	make func(ctx context.Context) (map[string]any, error)
}

// data returns the event as it is written.
func (e event) data(ctx context.Context) ([]byte, error) {
	members, err := e.make(ctx)
	if err != nil {
		return nil, err
	}
	members["type"], members["event_id"] = e.name, e.at.id()
	return json.Marshal(members)
}

const eventRoot = "agent.session."

// errorEvent is the last event of a stream that ends before its time.
func errorEvent(id sessions.SessionID, at position, code, message string) event {
	return event{at, "error", func(ctx context.Context) (map[string]any, error) {
		return map[string]any{"session_id": id, "error": problem{Message: message, Type: typeServer, Code: code}}, nil
	}}
}
