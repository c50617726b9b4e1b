package agentsv1

import "agenthost/sessions"

// openCall is a call without a result.
type openCall struct {
	message sessions.Message
	i       int
	index   int64
	shown   bool
}

// knowTools learns which tools clients run in the turn.
func (t *translator) knowTools() bool {
	if t.maker.clients[t.turn] != nil {
		return true
	}
	tools, err := t.clientTools(t.turn)
	if err != nil {
		t.err = err
		return false
	}
	t.maker.clients = map[sessions.TurnID]map[string]bool{t.turn: tools}
	return true
}

// wait returns the events of calls that wait for the client.
func (t *translator) wait(pending []sessions.Pending) (events []event) {
	for _, p := range pending {
		t.waits[p.CallID] = true
		if call := t.calls[p.CallID]; call != nil && p.Kind == sessions.PendingClientTool {
			events = append(events, t.showCall(call, slotCalls+2+2*int64(call.i))...)
		}
	}
	requires := t.sessionEvent("requires_action", statusRequiresAction, pending)
	requires.at.slot = slotWaits
	return append(events, requires)
}

// answered returns the event of a session whose last call that waited is answered.
func (t *translator) answered(id sessions.CallID) []event {
	if delete(t.waits, id); len(t.waits) > 0 {
		return nil
	}
	return []event{t.sessionEvent("in_progress", statusInProgress, nil)}
}

// showCall returns the events of a call that a client runs, once.
func (t *translator) showCall(c *openCall, slot int64) []event {
	if c.shown || !t.maker.isClients(c.message, c.i) {
		return nil
	}
	c.shown = true
	done, _ := t.maker.call(c.message, c.i, nil).(callItem)
	added := done
	added.Status = itemInProgress
	return []event{t.itemEvent(slot, "added", added, &c.index), t.itemEvent(slot+1, "done", done, &c.index)}
}

// result returns the events of a call's result.
func (t *translator) result(ended sessions.CallEnded) []event {
	call, ok := t.calls[ended.CallID]
	if !ok {
		return nil
	}
	delete(t.calls, ended.CallID)
	m := sessions.Message{Seq: call.message.Seq + 1 + int64(call.i), Role: sessions.RoleTool, ToolCallID: ended.CallID,
		Error: ended.Error, TurnID: t.turn}
	if ended.Error == nil {
		m.Content = []sessions.Content{{Type: sessions.ContentJSON, Value: ended.Output}}
	}
	const slot = slotCalls + 2
	if t.maker.isClients(call.message, call.i) {
		return append(t.showCall(call, slot), t.itemEvent(slot+2, "added", t.maker.result(m), nil))
	}
	return []event{t.itemEvent(slot, "done", t.maker.call(call.message, call.i, &m), &call.index)}
}
