package anthropictest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
)

// maxMarks is how many prefixes of a request the cache can be told to end.
const maxMarks = 4

// name is the form of the names of tools, and with other bounds of call ids.
var (
	name   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	callID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

type (
	wireRequest struct {
		Model        string        `json:"model"`
		MaxTokens    int64         `json:"max_tokens"`
		Stream       bool          `json:"stream"`
		System       []wireText    `json:"system"`
		Messages     []wireMessage `json:"messages"`
		Tools        *[]wireTool   `json:"tools"`
		CacheControl *wireMark     `json:"cache_control"`
		OutputConfig *wireOutput   `json:"output_config"`
	}
	wireMark struct {
		Type string `json:"type"`
	}
	wireText struct {
		Type         string    `json:"type"`
		Text         string    `json:"text"`
		CacheControl *wireMark `json:"cache_control"`
	}
	wireTool struct {
		Name         string          `json:"name"`
		Description  *string         `json:"description"`
		InputSchema  json.RawMessage `json:"input_schema"`
		CacheControl *wireMark       `json:"cache_control"`
	}
	wireOutput struct {
		Effort string `json:"effort"`
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	}
)

// Validate returns what is wrong with the body of a streaming request: a field
// the API does not know, one of another type, a message out of its place. The
// API of this version knows no temperature, no top_p and no seed.
func Validate(body []byte) error {
	var r wireRequest
	if err := decode(body, &r); err != nil {
		return err
	}
	switch {
	case r.Model == "":
		return errors.New("model is missing")
	case !r.Stream:
		return errors.New("the request is not for a stream")
	case r.MaxTokens < 1:
		return errors.New("max_tokens is not positive")
	case bytes.Count(body, []byte(`"cache_control":`)) > maxMarks:
		return fmt.Errorf("there are more than %d marks for the cache", maxMarks)
	}
	for i, s := range r.System {
		if s.Type != "text" || isBlank(s.Text) {
			return fmt.Errorf("system[%d] is no text", i)
		}
	}
	if err := r.OutputConfig.check(); err != nil {
		return err
	}
	if err := checkTools(r.Tools); err != nil {
		return err
	}
	return checkMessages(r.Messages)
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

func isBlank(text string) bool { return len(bytes.TrimSpace([]byte(text))) == 0 }

// UnmarshalJSON takes the one kind of mark there is.
func (m *wireMark) UnmarshalJSON(data []byte) error {
	if string(data) != `{"type":"ephemeral"}` {
		return fmt.Errorf("a mark for the cache is %s", data)
	}
	return nil
}

func (o *wireOutput) check() error {
	if o == nil {
		return nil
	}
	if !slices.Contains([]string{"", "low", "medium", "high", "xhigh", "max"}, o.Effort) {
		return fmt.Errorf("the effort is %q", o.Effort)
	}
	if o.Format == nil {
		return nil
	}
	var schema struct {
		Type       string `json:"type"`
		Additional *bool  `json:"additionalProperties"`
	}
	err := json.Unmarshal(o.Format.Schema, &schema)
	if err != nil || o.Format.Type != "json_schema" || schema.Type != "object" || schema.Additional == nil || *schema.Additional {
		return fmt.Errorf("output_config has no strict schema of an object: %s", o.Format.Schema)
	}
	return nil
}

func checkTools(tools *[]wireTool) error {
	if tools == nil {
		return nil
	}
	if len(*tools) == 0 {
		return errors.New("tools is empty")
	}
	names := map[string]bool{}
	for i, t := range *tools {
		if !name.MatchString(t.Name) || names[t.Name] {
			return fmt.Errorf("tools[%d]: name %q", i, t.Name)
		}
		names[t.Name] = true
		var schema struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(t.InputSchema, &schema); err != nil || schema.Type != "object" {
			return fmt.Errorf("tools[%d]: input_schema is no schema of an object: %s", i, t.InputSchema)
		}
	}
	return nil
}
