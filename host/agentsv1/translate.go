package agentsv1

import (
	"strings"

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
	life    sessions.Incarnation
	count   func() int64 // how many messages the history has now

	last    int64 // seq of the last numbered frame
	first   int64 // seq of the first frame of the turn
	turn    sessions.TurnID
	begun   bool  // the turn's first events are out
	waiting bool  // for the client
	seq     int64 // of the last message of the history; 0 while it is not known
	index   int64 // of the next item of the agent's output

	text  openText
	calls map[sessions.CallID]openCall
	kids  map[sessions.SessionID]bool
}

// openText is a message of the agent that is being written.
type openText struct {
	open    bool
	stage   int64 // of its first three slots, the last that was passed
	attempt int
	index   int64
	all     strings.Builder
	sent    int64
}

// openCall is a call without a result.
type openCall struct {
	message sessions.Message
	i       int
	index   int64
}

// frame returns the events of a frame.
func (t *translator) frame(f sessions.Frame) []event {
	if f.Seq > 0 {
		t.last = f.Seq
	}
	if f.TurnID != "" && f.TurnID != t.turn {
		t.enter(f)
	}
	switch body := f.Body.(type) {
	case sessions.Accepted:
		return []event{t.turnEvent(slotTurn, "turn.created", turnQueued, f)}
	case sessions.Delta:
		return append(t.begin(f), t.write(sessions.TextPart(body), slotStreamed)...)
	case sessions.TextPart:
		return append(t.begin(f), t.write(body, 0)...)
	case sessions.MessageAppended:
		return t.message(f, body.Message)
	case sessions.CallStarted, sessions.CallEnded, sessions.UsageReported:
		return t.begin(f)
	case sessions.ChildChanged:
		return append(t.begin(f), t.child(body))
	case sessions.Waiting:
		t.waiting = true
		return []event{t.sessionEvent("requires_action", statusRequiresAction, body.Pending)}
	case sessions.Answered:
		return nil
	}
	if f.Type().Terminal() {
		return t.end(f)
	}
	return nil
}

// enter takes up the turn of its first frame.
func (t *translator) enter(f sessions.Frame) {
	t.turn, t.first, t.begun, t.index = f.TurnID, max(f.Seq, 1), false, 0
	t.waiting = false
	t.text, t.calls, t.kids = openText{}, map[sessions.CallID]openCall{}, map[sessions.SessionID]bool{}
}

// place returns the position of an event of the last frame.
func (t *translator) place(slot int64) position {
	return position{t.life, max(t.first, 1), t.last, slot, t.text.sent}
}

// begin returns the events that follow the user's message, once. A turn that was
// taken up again has no such message.
func (t *translator) begin(f sessions.Frame) []event {
	if t.begun {
		return nil
	}
	t.begun = true
	return []event{t.sessionEvent("in_progress", statusInProgress, nil), t.turnEvent(slotCalls, "turn.in_progress", turnInProgress, f)}
}

// message returns the events of a message that has entered the history.
func (t *translator) message(f sessions.Frame, m sessions.Message) []event {
	defer func() { t.seq = m.Seq }()
	switch m.Role {
	case sessions.RoleUser:
		added := t.itemEvent(slotItemAdded, "added", viewMessage(m), nil)
		return append([]event{added}, t.begin(f)...)
	case sessions.RoleTool:
		return t.result(m)
	case sessions.RoleAssistant:
		return append(t.begin(f), t.answer(m)...)
	case sessions.RoleSystem:
	}
	return nil
}

// result returns the events of a call's result.
func (t *translator) result(m sessions.Message) []event {
	call, ok := t.calls[m.ToolCallID]
	if !ok {
		return nil
	}
	delete(t.calls, m.ToolCallID)
	var events []event
	if item := viewCall(call.message, call.i, &m); isClients(item) {
		events = append(events, t.itemEvent(slotItemAdded, "added", viewResult(m), nil))
	} else {
		events = append(events, t.itemEvent(slotItemDone, "done", item, &call.index))
	}
	if t.waiting {
		t.waiting = false
		events = append(events, t.sessionEvent("in_progress", statusInProgress, nil))
	}
	return events
}

// answer returns the events that complete a message of the agent, then those of
// its calls.
func (t *translator) answer(m sessions.Message) (events []event) {
	t.seq = m.Seq - 1 // what is being written is this message
	if text := sessions.TextOf(m.Content); text != "" {
		done := viewMessage(m)
		if rest := t.unsent(text); rest != "" || !t.text.open {
			events = append(events, t.show(rest, 0)...)
		}
		events = append(events, t.close(text, done)...)
	}
	t.text = openText{}
	for i := range m.ToolCalls {
		call := openCall{m, i, t.index}
		t.index++
		t.calls[m.ToolCalls[i].ID] = call
		item, slot := viewCall(m, i, nil), slotCalls+2+2*int64(i)
		events = append(events, t.itemEvent(slot, "added", item, &call.index))
		if function, ok := item.(callItem); ok {
			function.Status = itemCompleted
			events = append(events, t.itemEvent(slot+1, "done", function, &call.index))
		}
	}
	return events
}

// unsent returns what of the whole text was not passed on. What a repeated model
// call has written anew is told by the end of the text only.
func (t *translator) unsent(text string) string {
	if t.text.sent >= int64(len(text)) || !strings.HasPrefix(text, t.text.all.String()[:min(t.text.sent, int64(t.text.all.Len()))]) {
		return ""
	}
	return text[t.text.sent:]
}

// write takes in streamed text. Text behind a hole is left out: it comes again
// when it is durable.
func (t *translator) write(part sessions.TextPart, streamed int64) []event {
	if t.text.attempt == 0 {
		t.text.attempt = part.Attempt
	}
	end := part.Offset + int64(len(part.Text))
	if part.Attempt != t.text.attempt || part.Offset > t.text.sent || end <= t.text.sent {
		return nil
	}
	return t.show(part.Text[t.text.sent-part.Offset:], streamed)
}

// show passes text on, in an item that it opens if need be.
func (t *translator) show(text string, streamed int64) (events []event) {
	x := &t.text
	if !x.open {
		x.open, x.index = true, t.index
		t.index++
	}
	item := messageItem{ID: itemID(t.seqOfText(), 0), Type: "message", Role: sessions.RoleAssistant,
		Content: []contentView{}, Status: itemInProgress, TurnID: t.turn}
	if x.stage < slotItemAdded {
		events = append(events, t.itemEvent(streamed+slotItemAdded, "added", item, &x.index))
	}
	if x.stage < slotPartAdded {
		events = append(events, t.partEvent(streamed+slotPartAdded, "content_part.added", "part", contentView{Type: "output_text", Text: new("")}))
	}
	x.stage = slotDelta
	if text != "" {
		x.all.WriteString(text)
		x.sent += int64(len(text))
		events = append(events, t.partEvent(streamed+slotDelta, "output_text.delta", "delta", text))
	}
	return events
}

// close ends the open item.
func (t *translator) close(text string, done messageItem) []event {
	part := contentView{Type: "output_text", Text: &text}
	return []event{
		t.partEvent(slotTextDone, "output_text.done", "text", text),
		t.partEvent(slotPartDone, "content_part.done", "part", part),
		t.itemEvent(slotItemDone, "done", done, &t.text.index),
	}
}

// seqOfText is the number that the message being written will have: nothing comes
// between a model call and its answer.
func (t *translator) seqOfText() int64 {
	if t.seq == 0 {
		t.seq = t.count()
	}
	return t.seq + 1
}

// end returns the events of a turn's end.
func (t *translator) end(f sessions.Frame) (events []event) {
	events = t.begin(f)
	if t.text.open {
		text := t.text.all.String()
		item := messageItem{ID: itemID(t.seqOfText(), 0), Type: "message", Role: sessions.RoleAssistant, Status: itemIncomplete,
			Content: []contentView{{Type: "output_text", Text: &text}}, TurnID: t.turn}
		events = append(events, t.close(text, item)...)
	}
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
	events = append(events, t.turnEvent(slotCalls+1, "turn."+name, status, f))
	last := t.sessionEvent(string(after), after, nil)
	last.at.slot = slotCalls + 2 // behind those that begin a turn
	return append(events, last)
}

// resumeText takes up streamed text where a reader has left it.
func (t *translator) resumeText(from position) {
	x := &t.text
	if !x.open {
		x.open, x.index = true, t.index
		t.index++
	}
	x.stage = max(x.stage, from.slot-slotStreamed)
	x.sent = max(x.sent, from.sent)
	t.begun = true
}
