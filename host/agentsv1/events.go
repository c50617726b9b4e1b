package agentsv1

import (
	"context"
	"encoding/json"
)

// event is one event of a stream. make builds its members when it is to be sent; it
// has none when there is nothing to tell any more.
type event struct {
	at   position
	name string
	make func(ctx context.Context) (map[string]any, error)
}

// data returns the event as it is written; nil when there is nothing to tell.
func (e event) data(ctx context.Context) ([]byte, error) {
	members, err := e.make(ctx)
	if members == nil || err != nil {
		return nil, err
	}
	members["type"], members["event_id"] = e.name, e.at.id()
	return json.Marshal(members)
}

const eventRoot = "agent.session."
