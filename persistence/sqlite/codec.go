package sqlite

import (
	"bytes"
	"encoding/json"
	"hash/crc32"

	"agenthost/sessions"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// body is a stored value: JSON that the database does not look into, and the
// checksum it is read back with.
type body struct {
	json []byte
	crc  int64
}

func sealed(data []byte) body {
	if data == nil {
		data = []byte{} // a nil slice would be stored as NULL
	}
	return body{data, int64(crc32.Checksum(data, castagnoli))}
}

// intact reports whether the body is as it was stored.
func (b body) intact() bool { return int64(crc32.Checksum(b.json, castagnoli)) == b.crc }

// encode writes v as JSON without escaping what HTML would need escaped.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, sessions.Errorf(sessions.CodeInternal, "A value could not be written as JSON.").Because(err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// messageBody is a message as stored. Raw JSON is kept as a string, so that it
// comes back with the very bytes it had: a model's input must not change over a
// reload, not even by white space.
type messageBody struct {
	Role        sessions.Role       `json:"role"`
	Content     []contentBody       `json:"content,omitempty"`
	ToolCalls   []callBody          `json:"toolCalls,omitempty"`
	ToolCallID  sessions.CallID     `json:"toolCallId,omitempty"`
	Error       *sessions.ErrorInfo `json:"error,omitempty"`
	TurnID      sessions.TurnID     `json:"turnId,omitempty"`
	Interrupted bool                `json:"interrupted,omitempty"`
}

type contentBody struct {
	Type      sessions.ContentType `json:"type"`
	Text      string               `json:"text,omitempty"`
	MediaType string               `json:"mediaType,omitempty"`
	Data      string               `json:"data,omitempty"`
	URL       string               `json:"url,omitempty"`
	Value     string               `json:"value,omitempty"`
}

type callBody struct {
	ID   sessions.CallID `json:"id"`
	Path string          `json:"path"`
	Args string          `json:"args,omitempty"`
}

// encodeMessage seals all of m but its seq and time, which are columns.
func encodeMessage(m sessions.Message) (body, error) {
	stored := messageBody{Role: m.Role, ToolCallID: m.ToolCallID, Error: m.Error, TurnID: m.TurnID, Interrupted: m.Interrupted}
	for _, c := range m.Content {
		stored.Content = append(stored.Content, contentBody{c.Type, c.Text, c.MediaType, c.Data, c.URL, string(c.Value)})
	}
	for _, c := range m.ToolCalls {
		stored.ToolCalls = append(stored.ToolCalls, callBody{c.ID, c.Path, string(c.Args)})
	}
	data, err := encode(stored)
	return sealed(data), err
}

// decodeMessage opens what encodeMessage sealed, else SESSION_DAMAGED.
func decodeMessage(b body, seq int64, created sessions.Time) (sessions.Message, error) {
	var stored messageBody
	if !b.intact() || json.Unmarshal(b.json, &stored) != nil {
		return sessions.Message{}, errDamaged
	}
	m := sessions.Message{Seq: seq, CreatedAt: created, Role: stored.Role, ToolCallID: stored.ToolCallID,
		Error: stored.Error, TurnID: stored.TurnID, Interrupted: stored.Interrupted}
	for _, c := range stored.Content {
		m.Content = append(m.Content, sessions.Content{Type: c.Type, Text: c.Text, MediaType: c.MediaType,
			Data: c.Data, URL: c.URL, Value: rawOf(c.Value)})
	}
	for _, c := range stored.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: c.ID, Path: c.Path, Args: rawOf(c.Args)})
	}
	return m, nil
}

func rawOf(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// encodeError writes an error as a column's text, "" for none.
func encodeError(e *sessions.ErrorInfo) (string, error) {
	if e == nil {
		return "", nil
	}
	data, err := encode(e)
	return string(data), err
}

func encodeInference(i sessions.Inference) (string, error) {
	if i.IsZero() {
		return "", nil
	}
	data, err := encode(i)
	return string(data), err
}

// decodeText reads a column's JSON text into v; "" leaves v as it is.
func decodeText(text string, v any) error {
	if text == "" || text == "{}" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return errDamaged.Because(err)
	}
	return nil
}

func encodeLabels(labels map[string]string) (string, error) {
	if len(labels) == 0 {
		return "{}", nil
	}
	data, err := encode(labels)
	return string(data), err
}
