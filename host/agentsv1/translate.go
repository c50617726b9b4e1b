package agentsv1

import (
	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// translator makes a session's events of its frames. What it makes of a frame
// depends on the frames of the same turn before it and on nothing else, so that it
// can begin anew at the start of any turn.
type translator struct {
	access  *host.Access
	at      api.Address
	profile string
	maker   itemMaker
	// before returns the seq of the last message before those that a turn itself has
	// added to its prompt.
	before func(sessions.TurnID) (int64, error)
	// clientTools returns the paths of the tools that clients run in a turn.
	clientTools func(sessions.TurnID) (map[string]bool, error)

	last    int64 // seq of the last numbered frame
	first   int64 // seq of the first frame of the turn
	started int64 // and of the one that has started it
	turn    sessions.TurnID
	active  bool  // it has not ended
	begun   bool  // the turn's first events are out
	seq     int64 // of the last message of the history; 0 while it is not known
	index   int64 // of the next item of the agent's output
	done    int   // the last model call whose text is complete

	text  openText
	calls map[sessions.CallID]*openCall
	waits map[sessions.CallID]bool // calls that wait for the client
	kids  map[sessions.SessionID]bool
	err   error // of what could not be asked
}

// frame returns the events of a frame.
func (t *translator) frame(f sessions.Frame) ([]event, error) {
	events := t.translate(f)
	return events, t.err
}

func (t *translator) translate(f sessions.Frame) []event {
	if f.Seq > 0 {
		t.last = f.Seq
	}
	if f.Type() == sessions.FrameAccepted {
		t.enter(f)
	} else if f.TurnID != "" && f.TurnID != t.turn {
		return t.beside(f)
	}
	switch body := f.Body.(type) {
	case sessions.Accepted:
		return []event{t.turnEvent(slotTurn, "turn.created", turnQueued, f)}
	case sessions.Started:
		t.started = f.Seq
		return nil
	case sessions.Delta:
		if !t.active || body.Step <= t.done {
			return nil // it has come late: what it is part of is complete
		}
		return append(t.begin(f), t.write(sessions.TextPart(body), slotStreamed)...)
	case sessions.TextPart:
		return append(t.begin(f), t.write(body, 0)...)
	case sessions.MessageAppended:
		return t.message(f, body.Message)
	case sessions.CallStarted, sessions.UsageReported:
		return t.begin(f)
	case sessions.CallEnded:
		return append(t.begin(f), t.result(body)...)
	case sessions.ChildChanged:
		return append(t.begin(f), t.child(body))
	case sessions.Waiting:
		return t.wait(body.Pending)
	case sessions.Answered:
		return t.answered(body.CallID)
	}
	if f.Type().Terminal() {
		return t.end(f)
	}
	return nil
}

// enter takes up the turn of its first frame.
func (t *translator) enter(f sessions.Frame) {
	t.turn, t.first, t.active, t.begun, t.index, t.seq, t.done = f.TurnID, max(f.Seq, 1), true, false, 0, 0, 0
	t.text, t.calls = openText{}, map[sessions.CallID]*openCall{}
	t.waits, t.kids = map[sessions.CallID]bool{}, map[sessions.SessionID]bool{}
}

// beside returns the events of a frame of a turn that does not run: a sub-session of
// an earlier one has changed, or one that was queued never starts.
func (t *translator) beside(f sessions.Frame) []event {
	if body, ok := f.Body.(sessions.ChildChanged); ok {
		return []event{t.child(body)}
	}
	if !f.Type().Terminal() {
		return nil
	}
	events := []event{t.turnEvent(slotTurn, "turn.created", turnQueued, f)}
	ended, after := t.ends(f)
	if events = append(events, ended); !t.active {
		events = append(events, after)
	}
	return events
}

// place returns the position of an event of the last frame.
func (t *translator) place(slot int64) position {
	return position{t.maker.life, max(t.first, 1), t.last, slot, t.text.sent}
}

// here returns the position behind all events of the last frame.
func (t *translator) here() position {
	if t.text.open {
		return t.place(slotOpen)
	}
	return t.place(slotLive)
}

// begin returns the events that follow the user's message, once. A turn that takes up
// another has no such message: whatever comes first, they stand at its start.
func (t *translator) begin(f sessions.Frame) []event { return t.beginAt(t.started, f) }

func (t *translator) beginAt(seq int64, f sessions.Frame) []event {
	if t.begun {
		return nil
	}
	t.begun = true
	events := []event{t.sessionEvent("in_progress", statusInProgress, nil), t.turnEvent(slotCalls, "turn.in_progress", turnInProgress, f)}
	for i := range events {
		events[i].at.seq = seq
	}
	return events
}

// message returns the events of a message that has entered the history.
func (t *translator) message(f sessions.Frame, m sessions.Message) []event {
	defer func() { t.seq = m.Seq + int64(len(m.ToolCalls)) }() // each call has a result, behind its message
	switch m.Role {
	case sessions.RoleUser:
		added := t.itemEvent(slotItemAdded, "added", t.maker.message(m), nil)
		return append([]event{added}, t.beginAt(f.Seq, f)...)
	case sessions.RoleAssistant:
		return append(t.begin(f), t.answer(m)...)
	case sessions.RoleTool, sessions.RoleSystem:
	}
	return nil
}

// answer returns the events that complete a message of the agent, then those of
// its calls. A call that a client runs is shown when it can be answered.
func (t *translator) answer(m sessions.Message) (events []event) {
	t.seq = m.Seq - 1 // what is being written is this message
	if text := sessions.TextOf(m.Content); text != "" {
		done := t.maker.message(m)
		if rest := t.unsent(text); rest != "" || !t.text.open {
			events = append(events, t.show(rest, 0)...)
		}
		events = append(events, t.close(text, done)...)
	}
	t.done, t.text = max(t.done, t.text.step), openText{}
	if len(m.ToolCalls) == 0 || !t.knowTools() {
		return events
	}
	for i, c := range m.ToolCalls {
		call := &openCall{message: m, i: i, index: t.index}
		t.index++
		t.calls[c.ID] = call
		if !t.maker.isClients(m, i) {
			events = append(events, t.itemEvent(slotCalls+2+2*int64(i), "added", t.maker.call(m, i, nil), &call.index))
		}
	}
	return events
}

// end returns the events of a turn's end.
func (t *translator) end(f sessions.Frame) (events []event) {
	events = t.begin(f)
	if t.text.open {
		text := t.text.all.String()
		item := messageItem{ID: t.idOfText(), Type: "message", Role: sessions.RoleAssistant, Status: itemIncomplete,
			Content: []contentView{{Type: "output_text", Text: &text}}, TurnID: t.turn}
		events = append(events, t.close(text, item)...)
	}
	t.active = false
	ended, after := t.ends(f)
	return append(events, ended, after)
}

// ends returns what ends a turn, and the event of the session after it.
func (t *translator) ends(f sessions.Frame) (ended, last event) {
	name, status, after := "failed", turnFailed, statusFailed
	switch body := f.Body.(type) {
	case sessions.Completed:
		name, status, after = "completed", turnCompleted, statusIdle
	case sessions.Cancelled:
		name, status, after = "cancelled", turnCancelled, statusIdle
	case sessions.Interrupted:
		if body.Error != nil && body.Error.Code == sessions.CodeCancelled {
			after = statusIdle // it was detached
		}
	}
	last = t.sessionEvent(string(after), after, nil)
	last.at.slot = slotCalls + 2 // behind those that begin a turn
	return t.turnEvent(slotCalls+1, "turn."+name, status, f), last
}
