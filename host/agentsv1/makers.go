package agentsv1

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// turnEvent is an event of a turn, in a status that it had at a moment.
func (t *translator) turnEvent(id sessions.TurnID, name string, status turnStatus, now sessions.Time) event {
	return event{t.place(), eventRoot + "turn." + name, func(ctx context.Context) (map[string]any, error) {
		got, err := t.access.Turn(ctx, &api.TurnArgs{Address: t.at, TurnID: id})
		if err != nil {
			return nil, err
		}
		view := viewTurn(got.Turn.Turn, t.session, "")
		view.Status = status
		members := map[string]any{"session_id": t.at.SessionID, "turn_id": id}
		switch status {
		case turnQueued:
			view.StartedAt, view.CompletedAt, view.Error, view.Usage = nil, nil, nil, usageView{}
		case turnInProgress:
			view.StartedAt, view.CompletedAt, view.Error, view.Usage = new(unix(now)), nil, nil, usageView{}
		default:
			view.CompletedAt, members["usage"] = new(unix(now)), view.Usage
		}
		members["turn"] = view
		return members, nil
	}}
}

// sessionEvent is an event of the session, in a status that it had at the frame.
func (t *translator) sessionEvent(name string, status sessionStatus, pending []sessions.Pending) event {
	turn := t.turn.id
	return event{t.place(), eventRoot + name, func(ctx context.Context) (map[string]any, error) {
		got, err := t.access.SessionGet(ctx, &api.SessionGetArgs{Address: t.at})
		if err != nil {
			return nil, err
		}
		view, err := viewSession(ctx, t.access, got.Session)
		if err != nil {
			return nil, err
		}
		if view.Status = status; status != statusFailed {
			view.Error = nil
		}
		view.RequiredActions = actionsOf(sessions.Session{Pending: pending, ActiveTurn: &sessions.ActiveTurn{TurnID: turn}})
		return map[string]any{"session": view}, nil
	}}
}

// itemEvent is an event about an item; index is nil for what the agent did not make.
func (t *translator) itemEvent(at position, what string, item itemView, index *int64) event {
	members := map[string]any{"session_id": t.at.SessionID, "turn_id": t.turn.id, "item": item, "output_index": nil}
	if index != nil {
		members["output_index"] = *index
	}
	return event{at, eventRoot + "turn.item." + what, func(ctx context.Context) (map[string]any, error) { return members, nil }}
}

// partEvent is an event about the text of the open item.
func (t *translator) partEvent(at position, name, member string, value any) event {
	members := map[string]any{"session_id": t.at.SessionID, "turn_id": t.turn.id, "item_id": t.idOfText(),
		"output_index": t.turn.text.index, "content_index": 0, member: value}
	return event{at, eventRoot + "turn." + name, func(ctx context.Context) (map[string]any, error) { return members, nil }}
}

// child is an event about a sub-session.
func (t *translator) child(c sessions.ChildChanged) event {
	name, parent := "active", t.session
	if !t.turn.kids[c.SessionID] {
		name = "created"
	}
	if t.turn.kids[c.SessionID] = true; c.Status.Ended() {
		name = "closed"
	}
	return event{t.place(), eventRoot + "subagent." + name, func(ctx context.Context) (map[string]any, error) {
		got, err := t.access.Children(ctx, &api.ChildrenArgs{Address: t.at})
		if err != nil {
			return nil, err
		}
		ref := sessions.Ref{SessionID: c.SessionID, Location: c.Location} // one that is gone since
		for _, r := range got.Refs {
			if r.SessionID == c.SessionID {
				ref = r
			}
		}
		if ref.Status = c.Status; name != "closed" {
			ref.Status = sessions.RefRunning
		}
		return map[string]any{"subagent": viewSubagent(ref, parent)}, nil
	}}
}
