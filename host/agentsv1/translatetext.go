package agentsv1

import (
	"strings"

	"agenthost/sessions"
)

// openText is a message of the agent that is being written.
type openText struct {
	open    bool
	stage   int64 // the last that was passed
	step    int   // the model call that writes it
	attempt int   // and its repetition; 0 while it is not known
	index   int64
	all     strings.Builder // the beginning of the text, as far as it is known without a hole
	sent    int64           // bytes of it that the reader has
}

// write takes in streamed text. Text behind a hole is left out: it comes again
// when it is durable. What a repeated model call writes is told at its end only.
func (t *translator) write(part sessions.TextPart) []event {
	x := &t.turn.text
	if x.step = part.Step; x.attempt == 0 {
		x.attempt = part.Attempt
	}
	if part.Attempt != x.attempt {
		return nil
	}
	end := part.Offset + int64(len(part.Text))
	if known := int64(x.all.Len()); part.Offset <= known && end > known {
		x.all.WriteString(part.Text[known-part.Offset:])
	}
	if part.Offset > x.sent || end <= x.sent {
		return nil
	}
	return t.show(part.Text[x.sent-part.Offset:])
}

// show passes text on, in an item that it opens if need be.
func (t *translator) show(text string) (events []event) {
	x := &t.turn.text
	t.openText()
	if x.stage < stageItem {
		item := messageItem{ID: t.idOfText(), Type: "message", Role: sessions.RoleAssistant,
			Content: []contentView{}, Status: itemInProgress, TurnID: t.turn.id}
		events = append(events, t.itemEvent(t.textPlace(stageItem), "added", item, &x.index))
	}
	if x.stage < stagePart {
		part := contentView{Type: "output_text", Text: new("")}
		events = append(events, t.partEvent(t.textPlace(stagePart), "content_part.added", "part", part))
	}
	if text != "" {
		x.sent += int64(len(text))
		events = append(events, t.partEvent(t.textPlace(stageDelta), "output_text.delta", "delta", text))
	}
	return events
}

func (t *translator) openText() {
	if x := &t.turn.text; !x.open {
		x.open, x.index = true, t.turn.index
		t.turn.index++
	}
}

// endText returns the events that complete the text of a message of the agent. A
// model call that was repeated may have made one without text.
func (t *translator) endText(m sessions.Message) (events []event) {
	text := sessions.TextOf(m.Content)
	if text == "" {
		return t.cutText()
	}
	if rest := t.unsent(text); rest != "" || !t.turn.text.open {
		events = t.show(rest)
	}
	return append(events, t.closeText(text, t.maker.message(m))...)
}

// unsent returns what of the whole text was not passed on. Nothing is when the text
// is another one than the reader has had the beginning of.
func (t *translator) unsent(text string) string {
	x := &t.turn.text
	if x.sent > int64(min(x.all.Len(), len(text))) || text[:x.sent] != x.all.String()[:x.sent] {
		return ""
	}
	return text[x.sent:]
}

// cutText ends a text that does not become part of the history. Its end goes by stages
// as its beginning does: who comes back in the middle of it may be the only one to know
// of the text.
func (t *translator) cutText() (events []event) {
	x := &t.turn.text
	defer t.clearText()
	if !x.open {
		return nil
	}
	text := x.all.String()
	part := contentView{Type: "output_text", Text: &text}
	if x.stage < stageTextDone {
		events = append(events, t.partEvent(t.textPlace(stageTextDone), "output_text.done", "text", text))
	}
	if x.stage < stagePartDone {
		events = append(events, t.partEvent(t.textPlace(stagePartDone), "content_part.done", "part", part))
	}
	if x.stage < stageItemDone {
		done := messageItem{ID: t.idOfText(), Type: "message", Role: sessions.RoleAssistant, Status: itemIncomplete,
			Content: []contentView{part}, TurnID: t.turn.id}
		events = append(events, t.itemEvent(t.textPlace(stageItemDone), "done", done, &x.index))
	}
	t.turn.index = x.index // those who do not know of the text count without it
	return events
}

// giveUpText ends a text that a stop of the host has cut, before a message that its
// model call has not seen: the call is made again behind that.
func (t *translator) giveUpText() []event {
	done := t.turn.done
	events := t.cutText()
	t.turn.done = done
	return events
}

// closeText ends the open item.
func (t *translator) closeText(text string, done messageItem) []event {
	part := contentView{Type: "output_text", Text: &text}
	x := &t.turn.text
	x.sent, x.attempt = 0, 0 // whoever comes back behind these events is behind the text
	events := []event{
		t.partEvent(t.place(), "output_text.done", "text", text),
		t.partEvent(t.place(), "content_part.done", "part", part),
		t.itemEvent(t.place(), "done", done, &x.index),
	}
	t.clearText()
	return events
}

func (t *translator) clearText() {
	t.turn.done, t.turn.text = max(t.turn.done, t.turn.text.step), openText{}
}

// idOfText names the message being written: nothing comes between a model call and
// its answer.
func (t *translator) idOfText() string {
	if t.turn.seq == 0 {
		if t.turn.seq, t.err = t.before(t.turn.id); t.err != nil {
			return ""
		}
	}
	return itemID(t.maker.life, t.turn.seq+1, 0)
}

// textPlace returns the position of an event of the text that is being written, which
// has come to a stage. It is the same whether the text is durable already or not.
func (t *translator) textPlace(stage int64) position {
	t.turn.text.stage = stage
	p := t.placeAt(t.base, slotText+stage)
	p.frame = t.source
	return p
}

// resumeText takes up streamed text where a reader has left it.
func (t *translator) resumeText(from position) {
	x := &t.turn.text
	t.openText()
	x.stage = stageDelta
	if from.slot > slotText {
		x.stage = from.slot - slotText
	}
	x.sent = max(x.sent, from.sent)
	if x.attempt == 0 {
		x.attempt = int(from.attempt)
	}
}
