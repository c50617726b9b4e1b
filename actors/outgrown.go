package actors

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"agenthost/sessions"
)

// outgrown is a conversation that is more than the model's context window takes,
// seen as what can be summarised: places to cut it at, and the text of what lies
// before them.
//
// A place is the number of messages before it. What lies there is never between a
// call and its result, and the user's last message is never lost: from a place
// behind it, it is kept.
type outgrown struct {
	history []sessions.Message
	summary sessions.Summary // the one so far
	user    int              // index of the user's last message, -1 for none
	texts   []string         // of the messages that no summary stands for yet
}

func newOutgrown(history []sessions.Message, summary sessions.Summary) outgrown {
	o := outgrown{history: history, summary: summary, user: -1}
	paths := map[sessions.CallID]string{}
	for i, m := range history {
		for _, c := range m.ToolCalls {
			paths[c.ID] = c.Path
		}
		if m.Role == sessions.RoleUser {
			o.user = i
		}
		if int64(i) >= summary.ThroughSeq {
			o.texts = append(o.texts, messageText(m, paths))
		}
	}
	return o
}

// first is the place behind the summary so far.
func (o outgrown) first() int { return int(o.summary.ThroughSeq) }

// isPlace reports whether the conversation can be cut at n, and is shorter then.
func (o outgrown) isPlace(n int) bool {
	switch {
	case n <= o.first() || n == o.user+1:
		return false
	default:
		return n == len(o.history) || o.history[n].Role != sessions.RoleTool
	}
}

// weight is how much of the conversation lies between first and a place, in bytes
// of text.
func (o outgrown) weight(place int) (sum int) {
	for i := o.first(); i < place; i++ {
		sum += o.weightOf(i)
	}
	return sum
}

// weightOf is the weight of one message: none if it is kept in any case.
func (o outgrown) weightOf(i int) int {
	if i == o.user {
		return 0
	}
	return len(o.texts[i-o.first()])
}

// cut returns the first place before which that much lies; if there is none up to
// last, the last one there is; 0 if there is none at all.
func (o outgrown) cut(last, much int) (place int) {
	lies := 0
	for n := o.first() + 1; n <= last; n++ {
		lies += o.weightOf(n - 1)
		if !o.isPlace(n) {
			continue
		}
		if place = n; lies >= much {
			break
		}
	}
	return place
}

// half returns a place before which half of what lies before another one does.
func (o outgrown) half(place int) int { return o.cut(place-1, o.weight(place)/2) }

// at is the summary that stands for all before a place.
func (o outgrown) at(place int, text string) sessions.Summary {
	s := sessions.Summary{ThroughSeq: int64(place), Text: text}
	if o.user >= 0 && o.user < place {
		s.KeptSeq = int64(o.user + 1)
	}
	return s
}

// transcript is the text of what is to be summarised up to a place: the summary so
// far, and the messages since. Of long ones it has excerpts only, if that is asked.
func (o outgrown) transcript(place int, excerpts bool) string {
	var b strings.Builder
	if o.summary.ThroughSeq > 0 {
		fmt.Fprintf(&b, "[summary of what came before]\n%s\n\n", o.summary.Text)
	}
	for _, text := range o.texts[:place-o.first()] {
		if excerpts {
			text = excerpt(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// messageText writes a message as a part of a transcript. paths are those of calls.
func messageText(m sessions.Message, paths map[sessions.CallID]string) string {
	var b strings.Builder
	if m.Role == sessions.RoleTool {
		fmt.Fprintf(&b, "[result of %s]\n", paths[m.ToolCallID])
	} else {
		fmt.Fprintf(&b, "[%s]\n", m.Role)
	}
	for _, c := range m.Content {
		switch c.Type {
		case sessions.ContentImage:
			b.WriteString("(an image)")
		case sessions.ContentJSON:
			b.Write(c.Value)
		default:
			b.WriteString(c.Text)
		}
		b.WriteByte('\n')
	}
	if m.Error != nil {
		fmt.Fprintf(&b, "Error %s: %s\n", m.Error.Code, m.Error.Message)
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&b, "(calls %s with %s)\n", c.Path, c.Args)
	}
	b.WriteByte('\n')
	return b.String()
}

// excerptBytes is what an excerpt has of each end of a text.
const excerptBytes = 2 << 10

// excerpt returns the beginning and the end of a long text.
func excerpt(text string) string {
	if len(text) <= 3*excerptBytes {
		return text
	}
	begin, end := excerptBytes, len(text)-excerptBytes
	for !utf8.RuneStart(text[begin]) {
		begin--
	}
	for !utf8.RuneStart(text[end]) {
		end++
	}
	return fmt.Sprintf("%s\n(%d bytes are left out here)\n%s", text[:begin], end-begin, text[end:])
}
