package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agenthost/tools"
)

// outputOf makes a result one JSON value: its structured content, or else its
// texts as one string. A result that says it is an error becomes a *tools.Failure.
func outputOf(r *sdk.CallToolResult) (json.RawMessage, error) {
	text := textOf(r.Content)
	if r.IsError {
		if text == "" && r.StructuredContent != nil {
			output, err := tools.Encode(r.StructuredContent)
			if err != nil {
				return nil, err
			}
			text = string(output)
		}
		return nil, &tools.Failure{Message: cmp.Or(text, "The tool failed and did not say why.")}
	}
	if r.StructuredContent == nil {
		return tools.Encode(text)
	}
	if exact, ok := exactly(r.StructuredContent, r.Content); ok {
		return exact, nil
	}
	return tools.Encode(r.StructuredContent)
}

// exactly returns the structured content as the server wrote it, if it did so in
// a text too, as servers should. Reading it has rounded its large numbers.
func exactly(structured any, content []sdk.Content) (json.RawMessage, bool) {
	for _, part := range content {
		text, ok := part.(*sdk.TextContent)
		if !ok {
			continue
		}
		var value any
		if json.Unmarshal([]byte(text.Text), &value) == nil && reflect.DeepEqual(value, structured) {
			return json.RawMessage(text.Text), true
		}
	}
	return nil, false
}

// textOf joins the texts, and says in their place what is not carried.
func textOf(content []sdk.Content) string {
	var lines []string
	for _, part := range content {
		lines = append(lines, lineOf(part))
	}
	return strings.Join(lines, "\n")
}

func lineOf(part sdk.Content) string {
	switch part := part.(type) {
	case *sdk.TextContent:
		return part.Text
	case *sdk.ImageContent:
		return notCarried("image", part.MIMEType, len(part.Data))
	case *sdk.AudioContent:
		return notCarried("sound", part.MIMEType, len(part.Data))
	case *sdk.ResourceLink:
		return strings.TrimSpace("[Resource "+part.URI+" "+cmp.Or(part.Title, part.Name)) + "]"
	case *sdk.EmbeddedResource:
		switch r := part.Resource; {
		case r == nil:
			return "[An empty resource.]"
		case r.Text != "" || len(r.Blob) == 0:
			return r.Text
		default:
			return notCarried("resource "+r.URI, r.MIMEType, len(r.Blob))
		}
	default:
		return "[A part of another kind is left out.]"
	}
}

func notCarried(kind, mime string, size int) string {
	return fmt.Sprintf("[One %s of the type %s and %d bytes is left out; only text is carried.]", kind, cmp.Or(mime, "unknown"), size)
}
