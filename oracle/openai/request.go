package openai

import (
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"agenthost/oracle"
	"agenthost/oracle/provider"
	"agenthost/sessions"
)

// params maps r to the body of a request.
func (o *Oracle) params(r oracle.Request) (sdk.ChatCompletionNewParams, error) {
	p := sdk.ChatCompletionNewParams{
		Model:         o.config.Model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	tune(&p, r.Params)
	if len(r.Schema) > 0 {
		schema, err := provider.Object(r.Schema)
		if err != nil {
			return p, fmt.Errorf("the schema of the answer is no JSON object: %w", err)
		}
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Schema: schema, Strict: sdk.Bool(true)},
		}
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

// tune puts the parameters into p. What is not set is not sent.
func tune(p *sdk.ChatCompletionNewParams, q sessions.Params) {
	if q.Temperature != nil {
		p.Temperature = sdk.Float(*q.Temperature)
	}
	if q.TopP != nil {
		p.TopP = sdk.Float(*q.TopP)
	}
	if q.MaxTokens > 0 {
		p.MaxCompletionTokens = sdk.Int(q.MaxTokens)
	}
	if q.Seed != nil {
		p.Seed = sdk.Int(*q.Seed)
	}
	p.ReasoningEffort = shared.ReasoningEffort(q.Effort)
}

func wireMessage(m sessions.Message) sdk.ChatCompletionMessageParamUnion {
	switch m.Role {
	case sessions.RoleSystem:
		return sdk.SystemMessage(provider.PlainText(m.Content))
	case sessions.RoleAssistant:
		return wireAssistant(m)
	case sessions.RoleTool:
		return sdk.ToolMessage(provider.ResultText(m), provider.WireID(m.ToolCallID))
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
		} else if text := provider.TextOf(c); text != "" {
			parts = append(parts, sdk.TextContentPart(text))
		}
	}
	if !images && len(parts) <= 1 {
		return sdk.UserMessage(provider.PlainText(m.Content))
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
	if text := provider.PlainText(m.Content); text != "" || len(m.ToolCalls) == 0 {
		a.Content.OfString = sdk.String(text)
	}
	for _, c := range m.ToolCalls {
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: provider.WireID(c.ID),
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: sessions.FunctionName(c.Path), Arguments: string(provider.CallArgs(c)),
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &a}
}

// wireTool describes a tool as a function.
func wireTool(t oracle.Tool) (sdk.ChatCompletionToolUnionParam, error) {
	schema, err := provider.Schema(t)
	if err != nil {
		return sdk.ChatCompletionToolUnionParam{}, err
	}
	f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: schema}
	if t.Description != "" {
		f.Description = sdk.String(t.Description)
	}
	return sdk.ChatCompletionFunctionTool(f), nil
}
