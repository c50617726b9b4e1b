package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"agenthost/oracle"
	"agenthost/oracle/provider"
)

// defaultMaxTokens bounds an answer whose request says nothing of it: the API
// wants a bound, and every current model takes this one.
const defaultMaxTokens = 32_000

// params maps r to the body of a request.
func (o *Oracle) params(r oracle.Request) (sdk.MessageNewParams, error) {
	p := sdk.MessageNewParams{
		Model:     o.config.Model,
		MaxTokens: cmp.Or(r.Params.MaxTokens, defaultMaxTokens),
	}
	p.OutputConfig.Effort = sdk.OutputConfigEffort(r.Params.Effort)
	if len(r.Schema) > 0 {
		schema, err := provider.Object(r.Schema)
		if err != nil {
			return p, fmt.Errorf("the schema of the answer is no JSON object: %w", err)
		}
		p.OutputConfig.Format.Schema = schema
	}
	for _, t := range r.Tools {
		tool, err := wireTool(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	var c conversation
	c.instruct(r.System)
	for _, m := range r.Messages {
		c.add(m)
	}
	c.close()
	p.System = c.system
	for _, t := range c.turns {
		p.Messages = append(p.Messages, t.wire())
	}
	keepWarm(&p, c.turns)
	return p, nil
}

// wireTool describes a tool. The schema goes out as it is marshalled here: the
// SDK would write fields that it does not know in any order.
func wireTool(t oracle.Tool) (*sdk.ToolParam, error) {
	schema, err := provider.Schema(t)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](json.RawMessage(raw))}
	if t.Description != "" {
		tool.Description = sdk.String(t.Description)
	}
	return tool, nil
}
