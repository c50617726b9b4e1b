package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"agenthost/oracle"
	"agenthost/sessions"
)

// TextOf returns the text that stands for c where there can be only text.
func TextOf(c sessions.Content) string {
	switch c.Type {
	case sessions.ContentJSON:
		return string(c.Value)
	case sessions.ContentImage:
		return "[image]"
	default:
		return c.Text
	}
}

// PlainText puts content into one text.
func PlainText(content []sessions.Content) string {
	var b strings.Builder
	for _, c := range content {
		b.WriteString(TextOf(c))
	}
	return b.String()
}

// ResultText is what a model reads of the result of a tool call.
func ResultText(m sessions.Message) string {
	if m.Error != nil {
		return fmt.Sprintf("Error %s: %s", m.Error.Code, m.Error.Message)
	}
	return PlainText(m.Content)
}

// CallArgs are the arguments of a call as JSON, an object at least.
func CallArgs(c sessions.ToolCall) json.RawMessage {
	if len(c.Args) == 0 {
		return json.RawMessage("{}")
	}
	return c.Args
}

// wireID is the form of an id of a tool call that every API takes.
var wireID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// WireID turns an id that came from elsewhere into one that every API takes;
// equal ids stay equal.
func WireID(id sessions.CallID) string {
	if wireID.MatchString(string(id)) {
		return string(id)
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// Schema returns the schema of t's arguments with the type and the properties
// that APIs insist on. Its numbers keep their digits, and it marshals to the
// same bytes every time.
func Schema(t oracle.Tool) (map[string]any, error) {
	schema := map[string]any{"type": json.RawMessage(`"object"`), "properties": json.RawMessage(`{}`)}
	if len(t.Schema) == 0 {
		return schema, nil
	}
	given, err := Object(t.Schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s is no JSON object: %w", t.Path, err)
	}
	for key, value := range given {
		schema[key] = value
	}
	return schema, nil
}

// Object reads the fields of a JSON object and leaves their values as they are.
func Object(raw json.RawMessage) (map[string]any, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(fields))
	for key, value := range fields {
		object[key] = value
	}
	return object, nil
}
