package agentsv1

import (
	"strings"

	"agenthost/sessions"
)

// openText is a message of the agent that is being written.
type openText struct {
	open    bool
	stage   int64 // of its first three slots, the last that was passed
	step    int
	attempt int
	index   int64
	all     strings.Builder
	sent    int64
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
		t.text.step, t.text.attempt = part.Step, part.Attempt
	}
	x, end := &t.text, part.Offset+int64(len(part.Text))
	if part.Attempt != x.attempt {
		return nil
	}
	if have := int64(x.all.Len()); part.Offset <= have && end > have {
		x.all.WriteString(part.Text[have-part.Offset:])
	}
	if part.Offset > x.sent || end <= x.sent {
		return nil
	}
	return t.show(part.Text[x.sent-part.Offset:], streamed)
}

// show passes text on, in an item that it opens if need be.
func (t *translator) show(text string, streamed int64) (events []event) {
	x := &t.text
	if !x.open {
		x.open, x.index = true, t.index
		t.index++
	}
	item := messageItem{ID: t.idOfText(), Type: "message", Role: sessions.RoleAssistant,
		Content: []contentView{}, Status: itemInProgress, TurnID: t.turn}
	if x.stage < slotItemAdded {
		events = append(events, t.itemEvent(streamed+slotItemAdded, "added", item, &x.index))
	}
	if x.stage < slotPartAdded {
		events = append(events, t.partEvent(streamed+slotPartAdded, "content_part.added", "part", contentView{Type: "output_text", Text: new("")}))
	}
	x.stage = slotDelta
	if text != "" {
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

// idOfText names the message being written: nothing comes between a model call and
// its answer.
func (t *translator) idOfText() string {
	if t.seq == 0 {
		if t.seq, t.err = t.before(t.turn); t.err != nil {
			return ""
		}
	}
	return itemID(t.maker.life, t.seq+1, 0)
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
