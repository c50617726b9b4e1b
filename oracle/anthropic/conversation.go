package anthropic

import (
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"agenthost/oracle/provider"
	"agenthost/sessions"
)

// What stands where the API wants text and the history has none.
const (
	noText     = "(no text)"
	noPrompt   = "(the conversation begins with an answer)"
	cutAnswer  = "(the answer above was cut short; continue it)"
	systemNote = "System: "
)

// conversation is a history in the form that the API takes: the system's text
// apart, then turns of user and assistant that alternate, begin and end with
// the user's, and have no blank text in them.
type conversation struct {
	system []sdk.TextBlockParam
	turns  []*turn
}

// turn is a message of the API.
type turn struct {
	assistant bool
	blocks    []sdk.ContentBlockParamUnion
}

func (t *turn) wire() sdk.MessageParam {
	if t.assistant {
		return sdk.NewAssistantMessage(t.blocks...)
	}
	return sdk.NewUserMessage(t.blocks...)
}

// add appends a message of the history. Messages of one role in a row become
// one turn.
func (c *conversation) add(m sessions.Message) {
	switch m.Role {
	case sessions.RoleSystem:
		if len(c.turns) == 0 {
			c.instruct(provider.PlainText(m.Content))
			return
		}
		// Few models take a system message further down.
		c.say(false, texts(systemNote+provider.PlainText(m.Content)))
	case sessions.RoleAssistant:
		blocks := texts(provider.PlainText(m.Content))
		for _, call := range m.ToolCalls {
			args := provider.CallArgs(call)
			blocks = append(blocks, sdk.NewToolUseBlock(provider.WireID(call.ID), args, sessions.FunctionName(call.Path)))
		}
		c.say(true, blocks)
	case sessions.RoleTool:
		c.say(false, []sdk.ContentBlockParamUnion{wireResult(m)})
	default:
		blocks := wireUser(m.Content)
		if len(blocks) == 0 {
			blocks = texts(noText)
		}
		c.say(false, blocks)
	}
}

// instruct appends to the system's text.
func (c *conversation) instruct(text string) {
	if !isBlank(text) {
		c.system = append(c.system, sdk.TextBlockParam{Text: text})
	}
}

// say appends blocks to the turn of the role, a new one if the other's was last.
func (c *conversation) say(assistant bool, blocks []sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if len(c.turns) == 0 && assistant {
		c.say(false, texts(noPrompt))
	}
	if n := len(c.turns); n > 0 && c.turns[n-1].assistant == assistant {
		c.turns[n-1].blocks = append(c.turns[n-1].blocks, blocks...)
		return
	}
	c.turns = append(c.turns, &turn{assistant: assistant, blocks: blocks})
}

// close gives the last word to the user, without which no model answers.
func (c *conversation) close() {
	switch n := len(c.turns); {
	case n == 0:
		c.say(false, texts(noText))
	case c.turns[n-1].assistant:
		c.say(false, texts(cutAnswer))
	}
}

func texts(text string) []sdk.ContentBlockParamUnion {
	if isBlank(text) {
		return nil
	}
	return []sdk.ContentBlockParamUnion{sdk.NewTextBlock(text)}
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

func wireUser(content []sessions.Content) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	for _, c := range content {
		switch {
		case c.Type == sessions.ContentImage && c.Data != "":
			blocks = append(blocks, sdk.NewImageBlockBase64(c.MediaType, c.Data))
		case c.Type == sessions.ContentImage:
			blocks = append(blocks, sdk.NewImageBlock(sdk.URLImageSourceParam{URL: c.URL}))
		default:
			blocks = append(blocks, texts(provider.TextOf(c))...)
		}
	}
	return blocks
}

func wireResult(m sessions.Message) sdk.ContentBlockParamUnion {
	result := &sdk.ToolResultBlockParam{ToolUseID: provider.WireID(m.ToolCallID)}
	if text := provider.ResultText(m); !isBlank(text) {
		result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: text}}}
	}
	if m.Error != nil {
		result.IsError = sdk.Bool(true)
	}
	return sdk.ContentBlockParamUnion{OfToolResult: result}
}
