package openaitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// maxTools is how many functions the API takes in a request.
const maxTools = 128

// maxCallID is the longest id of a tool call, in characters.
const maxCallID = 40

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

type (
	wireRequest struct {
		Model               string            `json:"model"`
		Messages            []json.RawMessage `json:"messages"`
		Tools               []wireTool        `json:"tools"`
		Temperature         *float64          `json:"temperature"`
		TopP                *float64          `json:"top_p"`
		Seed                *int64            `json:"seed"`
		ReasoningEffort     string            `json:"reasoning_effort"`
		ResponseFormat      *wireFormat       `json:"response_format"`
		MaxCompletionTokens *int64            `json:"max_completion_tokens"`
		Stream              bool              `json:"stream"`
		StreamOptions       struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	wireFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	wireTool struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	wireText struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
	}
	wireUser struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	wireAssistant struct {
		Role      string      `json:"role"`
		Content   *string     `json:"content"`
		ToolCalls *[]wireCall `json:"tool_calls"`
	}
	wireCall struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	wireResult struct {
		Role       string  `json:"role"`
		Content    *string `json:"content"`
		ToolCallID string  `json:"tool_call_id"`
	}
	wirePart struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		ImageURL *struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
)

// Validate returns what is wrong with the body of a streaming request: a field
// the API does not know, one of another type, a message out of its place.
func Validate(body []byte) error {
	var r wireRequest
	if err := decode(body, &r); err != nil {
		return err
	}
	switch {
	case r.Model == "":
		return errors.New("model is missing")
	case len(r.Messages) == 0:
		return errors.New("messages are missing")
	case !r.Stream || !r.StreamOptions.IncludeUsage:
		return errors.New("the request is not for a stream with usage")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return errors.New("temperature is not within 0 and 2")
	case r.TopP != nil && (*r.TopP < 0 || *r.TopP > 1):
		return errors.New("top_p is not within 0 and 1")
	case !slices.Contains([]string{"", "none", "minimal", "low", "medium", "high", "xhigh"}, r.ReasoningEffort):
		return fmt.Errorf("reasoning_effort is %q", r.ReasoningEffort)
	case r.MaxCompletionTokens != nil && *r.MaxCompletionTokens < 1:
		return errors.New("max_completion_tokens is not positive")
	}
	if err := checkTools(body, r.Tools); err != nil {
		return err
	}
	if err := r.ResponseFormat.check(); err != nil {
		return err
	}
	p := pairing{}
	for i, m := range r.Messages {
		if err := p.check(m); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return p.closed()
}

// check returns what is wrong with the form asked of the answer. A strict schema
// is of an object that has no other fields than those it names.
func (f *wireFormat) check() error {
	if f == nil {
		return nil
	}
	var schema struct {
		Type       string `json:"type"`
		Additional *bool  `json:"additionalProperties"`
	}
	if f.Type != "json_schema" || !functionName.MatchString(f.JSONSchema.Name) {
		return fmt.Errorf("response_format has the type %q and the name %q", f.Type, f.JSONSchema.Name)
	}
	err := json.Unmarshal(f.JSONSchema.Schema, &schema)
	if err != nil || schema.Type != "object" || f.JSONSchema.Strict && (schema.Additional == nil || *schema.Additional) {
		return fmt.Errorf("response_format has no strict schema of an object: %s", f.JSONSchema.Schema)
	}
	return nil
}

// decode reads exactly one JSON value that has no fields unknown to v.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

func checkTools(body []byte, tools []wireTool) error {
	if len(tools) > maxTools || len(tools) == 0 && bytes.Contains(body, []byte(`"tools":[]`)) {
		return fmt.Errorf("there are %d tools", len(tools))
	}
	names := map[string]bool{}
	for i, t := range tools {
		if t.Type != "function" || !functionName.MatchString(t.Function.Name) || names[t.Function.Name] {
			return fmt.Errorf("tools[%d]: type %q, name %q", i, t.Type, t.Function.Name)
		}
		names[t.Function.Name] = true
		var schema struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(t.Function.Parameters, &schema); err != nil || schema.Type != "object" || schema.Properties == nil {
			return fmt.Errorf("tools[%d]: parameters are no schema of an object with properties: %s", i, t.Function.Parameters)
		}
	}
	return nil
}

// pairing follows the tool calls through the messages of a request.
type pairing struct {
	open map[string]bool
	seen map[string]bool
}

func (p *pairing) closed() error {
	if len(p.open) > 0 {
		return fmt.Errorf("%d tool calls are not followed by their results", len(p.open))
	}
	return nil
}

func (p *pairing) check(raw json.RawMessage) error {
	var head struct {
		Role string `json:"role"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	if head.Role == "tool" {
		return p.result(raw)
	}
	if err := p.closed(); err != nil {
		return err
	}
	switch head.Role {
	case "system":
		var m wireText
		if err := decode(raw, &m); err != nil {
			return err
		}
		if m.Content == nil {
			return errors.New("a system message without text")
		}
		return nil
	case "user":
		var m wireUser
		if err := decode(raw, &m); err != nil {
			return err
		}
		return checkContent(m.Content)
	case "assistant":
		return p.assistant(raw)
	default:
		return fmt.Errorf("unknown role %q", head.Role)
	}
}

func (p *pairing) result(raw json.RawMessage) error {
	var m wireResult
	if err := decode(raw, &m); err != nil {
		return err
	}
	if m.Content == nil || !p.open[m.ToolCallID] {
		return fmt.Errorf("a result without content, or without its call %q before it", m.ToolCallID)
	}
	delete(p.open, m.ToolCallID)
	return nil
}

func (p *pairing) assistant(raw json.RawMessage) error {
	var m wireAssistant
	if err := decode(raw, &m); err != nil {
		return err
	}
	if m.ToolCalls == nil {
		if m.Content == nil {
			return errors.New("an assistant message without content and tool_calls")
		}
		return nil
	}
	if len(*m.ToolCalls) == 0 {
		return errors.New("tool_calls is empty")
	}
	if p.open == nil {
		p.open, p.seen = map[string]bool{}, map[string]bool{}
	}
	for _, c := range *m.ToolCalls {
		if c.ID == "" || len(c.ID) > maxCallID || p.seen[c.ID] || c.Type != "function" || !functionName.MatchString(c.Function.Name) {
			return fmt.Errorf("tool call id %q, type %q, name %q", c.ID, c.Type, c.Function.Name)
		}
		if !json.Valid([]byte(c.Function.Arguments)) {
			return fmt.Errorf("the arguments of call %q are no JSON: %s", c.ID, c.Function.Arguments)
		}
		p.open[c.ID], p.seen[c.ID] = true, true
	}
	return nil
}

// checkContent checks the content of a user message: a string or parts.
func checkContent(raw json.RawMessage) error {
	var text *string
	if json.Unmarshal(raw, &text) == nil && text != nil {
		return nil
	}
	var parts []wirePart
	if err := decode(raw, &parts); err != nil {
		return err
	}
	if len(parts) == 0 {
		return errors.New("content is an empty list")
	}
	for i, part := range parts {
		switch {
		case part.Type == "text" && part.Text != nil && part.ImageURL == nil:
		case part.Type == "image_url" && part.ImageURL != nil && part.Text == nil && isImageURL(part.ImageURL.URL):
		default:
			return fmt.Errorf("content[%d] is no text and no image", i)
		}
	}
	return nil
}

func isImageURL(url string) bool {
	rest, ok := strings.CutPrefix(url, "data:image/")
	if !ok {
		return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
	}
	_, data, ok := strings.Cut(rest, ";base64,")
	_, err := base64.StdEncoding.DecodeString(data)
	return ok && err == nil && data != ""
}
