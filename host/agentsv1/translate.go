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
	session sessions.Session // as it was at first: only what never changes of it counts
	maker   itemMaker
	// before returns the seq of the last message before those that a turn itself has
	// added to its prompt.
	before func(sessions.TurnID) (int64, error)
	// clientTools returns the paths of the tools that clients run in a turn.
	clientTools func(sessions.TurnID) (map[string]bool, error)

	last   int64 // seq of the last numbered frame
	source int64 // seq of the frame at hand; of the next one when it has none
	base   int64 // seq of the last frame before it that is not text
	slot   int64 // of the last event of the last numbered frame

	turn openTurn
	torn bool  // frames before these are missing
	err  error // of what could not be asked
}

// openTurn is the turn that runs. Its id is "" while none does.
type openTurn struct {
	id      sessions.TurnID
	first   int64 // seq of its first frame
	started int64 // seq of the frame that says that it runs; 0 before
	since   sessions.Time
	begun   bool  // its first events are out
	seq     int64 // of the last message of the history; 0 while it is not known
	index   int64 // of the next item of the agent's output
	done    int   // the last model call whose text is complete

	text  openText
	calls map[sessions.CallID]*openCall
	waits map[sessions.CallID]bool // calls that wait for the client
	kids  map[sessions.SessionID]bool
}

// misses reports whether frames are missing that a reader at from needs for a frame: all
// that is behind a gap needs them, but for the turns that begin there.
func (t *translator) misses(f sessions.Frame, from position) bool {
	switch body := f.Body.(type) {
	case sessions.Gap:
		t.torn = true
		return body.To > from.seq
	case sessions.Accepted:
		return false
	}
	torn := t.torn && f.TurnID != "" && f.TurnID != t.turn.id
	return torn && (f.Seq > from.seq || f.Seq == from.seq && from.slot != slotLive)
}

// frame returns the events of a frame.
func (t *translator) frame(f sessions.Frame) ([]event, error) {
	t.source = t.last + 1
	if f.Seq > 0 {
		t.last, t.source, t.slot = f.Seq, f.Seq, 0
	}
	events := t.translate(f)
	if _, text := f.Body.(sessions.TextPart); f.Seq > 0 && !text {
		t.base = f.Seq
	}
	return events, t.err
}

func (t *translator) translate(f sessions.Frame) []event {
	if _, ok := f.Body.(sessions.Accepted); ok {
		t.turn = openTurn{id: f.TurnID, first: f.Seq, calls: map[sessions.CallID]*openCall{},
			waits: map[sessions.CallID]bool{}, kids: map[sessions.SessionID]bool{}}
		t.torn = false
		return []event{t.turnEvent(f.TurnID, "created", turnQueued, f.At)}
	}
	if f.TurnID == "" {
		return nil
	}
	events := t.beginBehind(f)
	switch {
	case f.TurnID == t.turn.id:
		return append(events, t.body(f)...)
	case f.Type().Terminal():
		return append(events, t.withdrawn(f)...)
	}
	return events
}

// body returns the events of a frame of the turn that runs.
func (t *translator) body(f sessions.Frame) []event {
	switch body := f.Body.(type) {
	case sessions.Started:
		t.turn.started, t.turn.since = f.Seq, f.At
	case sessions.Delta:
		if body.Step > t.turn.done { // else it has come late: what it is part of is complete
			return t.write(sessions.TextPart(body))
		}
	case sessions.TextPart:
		return t.write(body)
	case sessions.MessageAppended:
		return t.message(body.Message)
	case sessions.CallEnded:
		return t.result(body)
	case sessions.ChildChanged:
		return []event{t.child(body)}
	case sessions.Waiting:
		return t.wait(body.Pending)
	case sessions.Answered:
		return t.answered(body.CallID)
	default:
		if f.Type().Terminal() {
			return t.end(f)
		}
	}
	return nil
}

// place returns the position of the next event of the last frame.
func (t *translator) place() position {
	t.slot++
	return t.placeAt(t.last, t.slot)
}

func (t *translator) placeAt(seq, slot int64) position {
	first := t.turn.first
	if t.turn.id == "" {
		first = t.last
	}
	return position{t.maker.life, first, seq, slot, t.turn.text.sent, int64(t.turn.text.attempt), seq}
}

// begin returns the events of a turn that begins, once.
func (t *translator) begin() []event {
	if t.turn.begun {
		return nil
	}
	t.turn.begun = true
	return []event{t.sessionEvent("in_progress", statusInProgress, nil),
		t.turnEvent(t.turn.id, "in_progress", turnInProgress, t.turn.since)}
}

// beginBehind lets a turn begin that has no message of the user, since it takes up
// another: behind the frame that says that it runs, once something else follows.
func (t *translator) beginBehind(f sessions.Frame) []event {
	if t.turn.started == 0 || t.turn.begun {
		return nil
	}
	if m, ok := f.Body.(sessions.MessageAppended); ok && m.Message.Role == sessions.RoleUser && f.TurnID == t.turn.id {
		return nil
	}
	last, slot := t.last, t.slot
	t.last, t.slot = t.turn.started, 0
	defer func() { t.last, t.slot = last, slot }()
	return t.begin()
}

// message returns the events of a message that has entered the history.
func (t *translator) message(m sessions.Message) []event {
	defer func() { t.turn.seq = m.Seq + int64(len(m.ToolCalls)) }() // each call has a result, behind its message
	switch m.Role {
	case sessions.RoleUser:
		events := t.giveUpText()
		events = append(events, t.itemEvent(t.place(), "added", t.maker.message(m), nil))
		return append(events, t.begin()...)
	case sessions.RoleAssistant:
		return t.answer(m)
	case sessions.RoleTool, sessions.RoleSystem:
	}
	return nil
}

// answer returns the events that complete a message of the agent, then those of
// its calls. A call that a client runs is shown when it can be answered.
func (t *translator) answer(m sessions.Message) (events []event) {
	t.turn.seq = m.Seq - 1 // what is being written is this message
	events = t.endText(m)
	if len(m.ToolCalls) == 0 || !t.knowTools() {
		return events
	}
	for i, c := range m.ToolCalls {
		call := &openCall{message: m, i: i, index: t.turn.index}
		t.turn.index++
		t.turn.calls[c.ID] = call
		if !t.maker.isClients(m, i) {
			events = append(events, t.itemEvent(t.place(), "added", t.maker.call(m, i, nil), &call.index))
		}
	}
	return events
}

// end returns the events of the end of the turn that runs.
func (t *translator) end(f sessions.Frame) []event {
	events := t.cutText()
	name, status, after := outcome(f)
	events = append(events, t.turnEvent(f.TurnID, name, status, f.At), t.settledEvent(after))
	t.turn = openTurn{}
	return events
}

// withdrawn returns the events of a turn that has ended without having begun. What
// becomes of the session is told by the end of the turn that runs, if one does.
func (t *translator) withdrawn(f sessions.Frame) []event {
	name, status, after := outcome(f)
	events := []event{t.turnEvent(f.TurnID, "created", turnQueued, f.At), t.turnEvent(f.TurnID, name, status, f.At)}
	if t.turn.id == "" {
		events = append(events, t.settledEvent(after))
	}
	return events
}

// settledEvent is the last event of a turn's last frame: whoever has had it needs
// nothing of the turn to go on.
func (t *translator) settledEvent(after sessionStatus) event {
	last := t.sessionEvent(string(after), after, nil)
	last.at.slot = slotLive
	return last
}

// outcome returns what a turn's last frame means for the turn and its session.
func outcome(f sessions.Frame) (name string, status turnStatus, after sessionStatus) {
	name, status, after = "failed", turnFailed, statusFailed
	switch body := f.Body.(type) {
	case sessions.Completed:
		return "completed", turnCompleted, statusIdle
	case sessions.Cancelled:
		return "cancelled", turnCancelled, statusIdle
	case sessions.Interrupted:
		if body.Error != nil && body.Error.Code == sessions.CodeCancelled {
			after = statusIdle // it was detached
		}
	case sessions.Failed:
		if body.Error != nil && body.Error.Code == sessions.CodeSessionClosed {
			after = statusIdle
		}
	}
	return name, status, after
}
