package sessions

import (
	"encoding/json"
	"strings"
)

// Role says who speaks in a message.
type Role string

// The roles of a message.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// ContentType says which fields of a Content hold.
type ContentType string

// The types of content.
const (
	ContentText  ContentType = "text"
	ContentImage ContentType = "image"
	ContentJSON  ContentType = "json"
)

// Content is one part of a message. Type says which of the other fields hold:
// Text; or MediaType with Data (base64) or URL; or Value.
type Content struct {
	Type      ContentType     `json:"type"`
	Text      string          `json:"text,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
	Data      string          `json:"data,omitempty"`
	URL       string          `json:"url,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
}

// Text returns content of one text part.
func Text(s string) []Content { return []Content{{Type: ContentText, Text: s}} }

// TextOf joins the text parts of content.
func TextOf(content []Content) string {
	if len(content) == 1 {
		return content[0].Text
	}
	var b strings.Builder
	for _, c := range content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// ContentBytes returns the size of content as limits count it: the bytes of
// its texts, data, URLs and values.
func ContentBytes(content []Content) int64 {
	var n int
	for _, c := range content {
		n += len(c.Text) + len(c.Data) + len(c.URL) + len(c.Value)
	}
	return int64(n)
}

// ToolCall is a model's wish to run the tool at Path with Args, a JSON object.
type ToolCall struct {
	ID   CallID          `json:"id"`
	Path string          `json:"path"`
	Args json.RawMessage `json:"args"`
}

// Message is one entry of a conversation. Stored messages are append-only: the
// bytes and the seq of one never change.
type Message struct {
	Seq     int64     `json:"seq"` // from 1 without gaps, per session
	Role    Role      `json:"role"`
	Content []Content `json:"content"` // nil and empty mean the same
	// ToolCalls are the calls an assistant message asks for. Each has exactly
	// one tool message with its id further on.
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// ToolCallID is, in a tool message, the call this is the result of.
	ToolCallID CallID `json:"toolCallId,omitempty"`
	// Error is set in a tool message whose call gave no output.
	Error *ErrorInfo `json:"error,omitempty"`
	// TurnID is the turn that appended the message; empty for seeded ones.
	TurnID    TurnID `json:"turnId,omitempty"`
	CreatedAt Time   `json:"createdAt,omitzero"`
	// Interrupted marks an assistant message cut short.
	Interrupted bool `json:"interrupted,omitempty"`
}

// MarshalJSON writes content that is nil as an empty list, so that readers of the
// wire find a list whatever the message came from.
func (m Message) MarshalJSON() ([]byte, error) {
	type plain Message
	if m.Content == nil {
		m.Content = []Content{}
	}
	return json.Marshal(plain(m))
}

// PreviewRunes is how much of the first user message a session shows.
const PreviewRunes = 240

// Preview returns the first PreviewRunes characters of content's text.
func Preview(content []Content) string {
	n := 0
	text := TextOf(content)
	for i := range text {
		if n == PreviewRunes {
			return text[:i]
		}
		n++
	}
	return text
}
