package anthropictest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

type (
	wireMessage struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	wireImage struct {
		Type   string `json:"type"`
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      string `json:"data"`
			URL       string `json:"url"`
		} `json:"source"`
		CacheControl *wireMark `json:"cache_control"`
	}
	wireCall struct {
		Type         string                     `json:"type"`
		ID           string                     `json:"id"`
		Name         string                     `json:"name"`
		Input        map[string]json.RawMessage `json:"input"`
		CacheControl *wireMark                  `json:"cache_control"`
	}
	wireResult struct {
		Type         string      `json:"type"`
		ToolUseID    string      `json:"tool_use_id"`
		Content      *[]wireText `json:"content"`
		IsError      *bool       `json:"is_error"`
		CacheControl *wireMark   `json:"cache_control"`
	}
)

// checkMessages follows roles and tool calls through the messages of a request.
// The API itself would join messages of one role; a request of ours has none.
func checkMessages(messages []wireMessage) error {
	if len(messages) == 0 {
		return errors.New("messages are missing")
	}
	p := pairing{open: map[string]bool{}, seen: map[string]bool{}}
	for i, m := range messages {
		role := []string{"user", "assistant"}[i%2]
		if m.Role != role || len(m.Content) == 0 {
			return fmt.Errorf("messages[%d]: role %q, %d blocks; want a message of the %s", i, m.Role, len(m.Content), role)
		}
		for j, block := range m.Content {
			if err := p.check(role, block); err != nil {
				return fmt.Errorf("messages[%d].content[%d]: %w", i, j, err)
			}
		}
		if role == "user" && len(p.open) > 0 {
			return fmt.Errorf("messages[%d]: %d tool calls of the message before have no result", i, len(p.open))
		}
	}
	if len(messages)%2 == 0 {
		return errors.New("the last message is the assistant's, which no model goes on with")
	}
	return nil
}

// pairing follows the tool calls: open ones are those of the last message.
type pairing struct {
	open, seen map[string]bool
}

func (p *pairing) check(role string, raw json.RawMessage) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	switch role + " " + head.Type {
	case "user tool_result":
		return p.result(raw)
	case "assistant tool_use":
		return p.call(raw)
	case "user text", "assistant text":
		var b wireText
		if err := decode(raw, &b); err != nil {
			return err
		}
		if isBlank(b.Text) || len(p.open) > 0 {
			return errors.New("text that is blank, or between a call and its result")
		}
		return nil
	case "user image":
		return p.image(raw)
	default:
		return fmt.Errorf("a block of type %q in a message of the %s", head.Type, role)
	}
}

func (p *pairing) call(raw json.RawMessage) error {
	var b wireCall
	if err := decode(raw, &b); err != nil {
		return err
	}
	if !callID.MatchString(b.ID) || p.seen[b.ID] || !name.MatchString(b.Name) || b.Input == nil {
		return fmt.Errorf("tool call id %q, name %q, input %v", b.ID, b.Name, b.Input)
	}
	p.open[b.ID], p.seen[b.ID] = true, true
	return nil
}

func (p *pairing) result(raw json.RawMessage) error {
	var b wireResult
	if err := decode(raw, &b); err != nil {
		return err
	}
	if !p.open[b.ToolUseID] {
		return fmt.Errorf("a result without its call %q in the message before", b.ToolUseID)
	}
	delete(p.open, b.ToolUseID)
	if b.Content != nil && slices.ContainsFunc(*b.Content, func(t wireText) bool { return t.Type != "text" || isBlank(t.Text) }) {
		return errors.New("a result with blank text")
	}
	return nil
}

func (p *pairing) image(raw json.RawMessage) error {
	var b wireImage
	if err := decode(raw, &b); err != nil {
		return err
	}
	s := b.Source
	switch s.Type {
	case "url":
		if !strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "http://") || s.Data != "" {
			return fmt.Errorf("an image at %q", s.URL)
		}
	case "base64":
		_, err := base64.StdEncoding.DecodeString(s.Data)
		if err != nil || s.Data == "" || !strings.HasPrefix(s.MediaType, "image/") || s.URL != "" {
			return fmt.Errorf("an image of type %q with data %q", s.MediaType, s.Data)
		}
	default:
		return fmt.Errorf("an image from %q", s.Type)
	}
	if len(p.open) > 0 {
		return errors.New("an image between a call and its result")
	}
	return nil
}
