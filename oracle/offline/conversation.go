package offline

import (
	"fmt"
	"strings"

	"agenthost/sessions"
)

// shownRunes is how much of a tool's output or of an old message an answer shows.
const shownRunes = 240

// conversation is a history seen from its last user message.
type conversation struct {
	messages []sessions.Message
	last     int // index of the last user message, -1 if there is none
}

func conversationOf(messages []sessions.Message) conversation {
	c := conversation{messages: messages, last: len(messages) - 1}
	for c.last >= 0 && messages[c.last].Role != sessions.RoleUser {
		c.last--
	}
	return c
}

// asked returns the text of the last user message.
func (c conversation) asked() string {
	if c.last < 0 {
		return ""
	}
	return sessions.TextOf(c.messages[c.last].Content)
}

// since returns the messages after the last user message.
func (c conversation) since() []sessions.Message { return c.messages[c.last+1:] }

// before returns the texts that role has said before the last user message.
func (c conversation) before(role sessions.Role) []string {
	var texts []string
	for _, m := range c.messages[:max(c.last, 0)] {
		if text := sessions.TextOf(m.Content); m.Role == role && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// hasCalled reports whether tools were called for the last user message.
func (c conversation) hasCalled() bool {
	for _, m := range c.since() {
		if len(m.ToolCalls) > 0 {
			return true
		}
	}
	return false
}

// report says what came of the calls made for the last user message, in call order.
func (c conversation) report() string {
	results := map[sessions.CallID]sessions.Message{}
	for _, m := range c.since() {
		if m.Role == sessions.RoleTool {
			results[m.ToolCallID] = m
		}
	}
	var lines []string
	for _, m := range c.since() {
		for _, call := range m.ToolCalls {
			result, ok := results[call.ID]
			switch {
			case !ok:
				lines = append(lines, fmt.Sprintf("%s has not answered.", call.Path))
			case result.Error != nil:
				lines = append(lines, fmt.Sprintf("%s failed with %s: %s", call.Path, result.Error.Code, result.Error.Message))
			default:
				lines = append(lines, fmt.Sprintf("%s answered %s", call.Path, shorten(describe(result.Content))))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// describe puts content of any type into words.
func describe(content []sessions.Content) string {
	var words []string
	for _, part := range content {
		switch part.Type {
		case sessions.ContentText:
			words = append(words, part.Text)
		case sessions.ContentJSON:
			words = append(words, string(part.Value))
		case sessions.ContentImage:
			words = append(words, "(an image)")
		}
	}
	return strings.Join(words, " ")
}

// shorten cuts text to what an answer shows of it.
func shorten(text string) string {
	n := 0
	for i := range text {
		if n == shownRunes {
			return text[:i] + "…"
		}
		n++
	}
	return text
}
