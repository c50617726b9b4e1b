package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"agenthost/oracle"
	"agenthost/sessions"
)

// maxCallID is the longest id of a tool call that the API takes.
const maxCallID = 40

// params maps r to the body of a request.
func (o *Oracle) params(r oracle.Request) (sdk.ChatCompletionNewParams, error) {
	p := sdk.ChatCompletionNewParams{
		Model:         o.config.Model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if t := o.config.Temperature; t != nil {
		p.Temperature = sdk.Float(*t)
	}
	if n := r.Limits.MaxOutputTokens; n > 0 {
		p.MaxCompletionTokens = sdk.Int(n)
	}
	if r.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(r.System))
	}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, wireMessage(m))
	}
	for _, t := range r.Tools {
		tool, err := wireTool(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, tool)
	}
	return p, nil
}

func wireMessage(m sessions.Message) sdk.ChatCompletionMessageParamUnion {
	switch m.Role {
	case sessions.RoleSystem:
		return sdk.SystemMessage(plainText(m.Content))
	case sessions.RoleAssistant:
		return wireAssistant(m)
	case sessions.RoleTool:
		text := plainText(m.Content)
		if m.Error != nil {
			text = fmt.Sprintf("Error %s: %s", m.Error.Code, m.Error.Message)
		}
		return sdk.ToolMessage(text, wireID(m.ToolCallID))
	default:
		return wireUser(m)
	}
}

// wireUser keeps a message of text alone as a string, the form that every
// compatible server understands.
func wireUser(m sessions.Message) sdk.ChatCompletionMessageParamUnion {
	var parts []sdk.ChatCompletionContentPartUnionParam
	images := false
	for _, c := range m.Content {
		if c.Type == sessions.ContentImage {
			images = true
			at := sdk.ChatCompletionContentPartImageImageURLParam{URL: imageURL(c)}
			parts = append(parts, sdk.ImageContentPart(at))
		} else if text := textOf(c); text != "" {
			parts = append(parts, sdk.TextContentPart(text))
		}
	}
	if !images && len(parts) <= 1 {
		return sdk.UserMessage(plainText(m.Content))
	}
	return sdk.UserMessage(parts)
}

func imageURL(c sessions.Content) string {
	if c.Data == "" {
		return c.URL
	}
	return "data:" + c.MediaType + ";base64," + c.Data
}

func wireAssistant(m sessions.Message) sdk.ChatCompletionMessageParamUnion {
	var a sdk.ChatCompletionAssistantMessageParam
	if text := plainText(m.Content); text != "" || len(m.ToolCalls) == 0 {
		a.Content.OfString = sdk.String(text)
	}
	for _, c := range m.ToolCalls {
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: wireID(c.ID),
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: sessions.FunctionName(c.Path), Arguments: args,
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &a}
}

// plainText puts content into one text, for roles that can have nothing else.
func plainText(content []sessions.Content) string {
	var b strings.Builder
	for _, c := range content {
		b.WriteString(textOf(c))
	}
	return b.String()
}

func textOf(c sessions.Content) string {
	switch c.Type {
	case sessions.ContentJSON:
		return string(c.Value)
	case sessions.ContentImage:
		return "[image]"
	default:
		return c.Text
	}
}

// wireID shortens an id that came from elsewhere to what the API takes; equal
// ids stay equal.
func wireID(id sessions.CallID) string {
	if len(id) <= maxCallID {
		return string(id)
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// wireTool gives a schema the type and the properties that the API insists on.
func wireTool(t oracle.Tool) (sdk.ChatCompletionToolUnionParam, error) {
	schema := map[string]json.RawMessage{}
	if len(t.Schema) > 0 {
		if err := json.Unmarshal(t.Schema, &schema); err != nil {
			return sdk.ChatCompletionToolUnionParam{}, fmt.Errorf("the schema of %s is no JSON object: %w", t.Path, err)
		}
	}
	parameters := shared.FunctionParameters{"type": json.RawMessage(`"object"`), "properties": json.RawMessage(`{}`)}
	for key, value := range schema {
		parameters[key] = value
	}
	f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: parameters}
	if t.Description != "" {
		f.Description = sdk.String(t.Description)
	}
	return sdk.ChatCompletionFunctionTool(f), nil
}

// callIDs returns the ids of all tool calls of history.
func callIDs(history []sessions.Message) map[sessions.CallID]bool {
	used := map[sessions.CallID]bool{}
	for _, m := range history {
		for _, c := range m.ToolCalls {
			used[c.ID] = true
		}
	}
	return used
}
