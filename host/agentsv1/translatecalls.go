package agentsv1

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// openCall is a call without a result.
type openCall struct {
	message sessions.Message
	i       int
	index   int64
	shown   bool // it has waited for the client
}

// knowTools learns which tools clients run in the turn.
func (t *translator) knowTools() bool {
	if t.maker.clients[t.turn.id] != nil {
		return true
	}
	tools, err := t.clientTools(t.turn.id)
	if err != nil {
		t.err = err
		return false
	}
	t.maker.clients = map[sessions.TurnID]map[string]bool{t.turn.id: tools}
	return true
}

// wait returns the events of calls that wait for the client.
func (t *translator) wait(pending []sessions.Pending) (events []event) {
	for _, p := range pending {
		t.turn.waits[p.CallID] = true
		if call := t.turn.calls[p.CallID]; call != nil && p.Kind == sessions.PendingClientTool && !call.shown {
			call.shown = true
			events = append(events, t.callAdded(call), t.callDone(call))
		}
	}
	return append(events, t.sessionEvent("requires_action", statusRequiresAction, pending))
}

// answered returns the event of a session whose last call that waited is answered.
func (t *translator) answered(id sessions.CallID) []event {
	if !t.turn.waits[id] {
		return nil
	}
	if delete(t.turn.waits, id); len(t.turn.waits) > 0 {
		return nil
	}
	return []event{t.sessionEvent("in_progress", statusInProgress, nil)}
}

// callAdded is the event on which a reader runs a call and answers it. Whoever reads
// it when the call waits no more is not told.
func (t *translator) callAdded(c *openCall) event {
	item, _ := t.maker.call(c.message, c.i, nil).(callItem)
	item.Status = itemInProgress
	added := t.itemEvent(t.place(), "added", item, &c.index)
	members := added.make
	added.make = func(ctx context.Context) (map[string]any, error) {
		got, err := t.access.SessionGet(ctx, &api.SessionGetArgs{Address: t.at})
		if err != nil {
			return nil, err
		}
		for _, p := range got.Session.Pending {
			if p.CallID == item.CallID && p.Kind == sessions.PendingClientTool {
				return members(ctx)
			}
		}
		return nil, nil
	}
	return added
}

// callDone is the event of a call that a client runs, which is complete as it is.
func (t *translator) callDone(c *openCall) event {
	return t.itemEvent(t.place(), "done", t.maker.call(c.message, c.i, nil), &c.index)
}

// result returns the events of a call's result. A call that has never waited for a
// client, since it was refused or the turn ended, is not added, only done.
func (t *translator) result(ended sessions.CallEnded) (events []event) {
	call, ok := t.turn.calls[ended.CallID]
	if !ok {
		return nil
	}
	delete(t.turn.calls, ended.CallID)
	m := sessions.Message{Seq: call.message.Seq + 1 + int64(call.i), Role: sessions.RoleTool, ToolCallID: ended.CallID,
		Error: ended.Error, TurnID: t.turn.id}
	if ended.Error == nil {
		m.Content = []sessions.Content{{Type: sessions.ContentJSON, Value: ended.Output}}
	}
	if !t.maker.isClients(call.message, call.i) {
		return []event{t.itemEvent(t.place(), "done", t.maker.call(call.message, call.i, &m), &call.index)}
	}
	if !call.shown {
		events = append(events, t.callDone(call))
	}
	return append(events, t.itemEvent(t.place(), "added", t.maker.result(m), nil))
}
