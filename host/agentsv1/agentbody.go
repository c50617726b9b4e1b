package agentsv1

import (
	"bytes"
	"encoding/json"
	"errors"

	"agenthost/host/api"
	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// agentBody is what is asked of an agent beyond its profile. What it leaves out
// stays as it was, and null takes back what was asked before.
type agentBody struct {
	Instructions api.Nullable[string]            `json:"instructions"`
	Model        api.Nullable[string]            `json:"model"`
	Tools        api.Nullable[[]json.RawMessage] `json:"tools"`
	Reasoning    api.Nullable[reasoningBody]     `json:"reasoning"`
	Text         api.Nullable[textBody]          `json:"text"`
	ServiceTier  string                          `json:"service_tier" strict:"nonempty"`
	MultiAgent   *multiAgentBody                 `json:"multi_agent"`
	Compaction   json.RawMessage                 `json:"compaction"`
	Experimental json.RawMessage                 `json:"experimental"`
}

type reasoningBody struct {
	Effort  sessions.Effort `json:"effort" strict:"nonempty"`
	Summary string          `json:"summary" strict:"nonempty"`
}

type textBody struct {
	Format    *formatBody `json:"format"`
	Verbosity string      `json:"verbosity" strict:"nonempty"`
}

type formatBody struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type multiAgentBody struct {
	Enabled bool   `json:"enabled"`
	Most    *int64 `json:"max_concurrent_subagents"`
}

// over returns settings with what the body asks for in their place. at is the JSON
// pointer of the body.
func (a *agentBody) over(s settings, at string) (settings, error) {
	if err := a.refuse(at); err != nil {
		return s, err
	}
	if model, ok := a.Model.Value(); ok {
		s.Model = model
	}
	if !a.Instructions.IsZero() {
		s.Instructions, _ = a.Instructions.Value()
	}
	if !a.Reasoning.IsZero() {
		reasoning, _ := a.Reasoning.Value()
		s.Effort = reasoning.Effort
		if err := (sessions.Params{Effort: s.Effort}).Check(at + "/reasoning"); err != nil {
			return s, err
		}
	}
	if !a.Text.IsZero() {
		text, _ := a.Text.Value()
		if s.Schema = nil; text.Format != nil && text.Format.Type == "json_schema" {
			s.Schema = text.Format.Schema
			if err := checkObject(s.Schema, dotted(at+"/text/format/schema")); err != nil {
				return s, err
			}
		}
	}
	if a.Tools.IsZero() {
		return s, nil
	}
	list, _ := a.Tools.Value()
	tools, err := functionsOf(list, at+"/tools")
	s.Tools = tools
	return s, err
}

// refuse refuses what this host has no way to do.
func (a *agentBody) refuse(at string) error {
	reasoning, _ := a.Reasoning.Value()
	text, _ := a.Text.Value()
	asked := map[string]bool{}
	for name, is := range map[string]bool{
		"service_tier":      a.ServiceTier != "" && a.ServiceTier != "auto" && a.ServiceTier != "default",
		"reasoning/summary": reasoning.Summary != "",
		"text/verbosity":    text.Verbosity != "" && text.Verbosity != "medium",
		"text/format/type":  text.Format != nil && text.Format.Type != "text" && text.Format.Type != "json_schema",
		"multi_agent":       a.MultiAgent != nil && a.MultiAgent.Enabled,
		"compaction":        present(a.Compaction),
		"experimental":      present(a.Experimental),
	} {
		asked[dotted(at+"/"+name)] = is
	}
	return refuse(asked)
}

// functionsOf reads a list of tools, which stands at a JSON pointer.
func functionsOf(list []json.RawMessage, at string) (tools []functionTool, err error) {
	seen := map[string]bool{}
	for i, raw := range list {
		at := strictjson.PointerAt(at, i)
		tool, err := functionOf(raw, at)
		if err != nil {
			return nil, err
		}
		if seen[tool.Name] {
			return nil, invalid(dotted(at+"/name"), "Two tools have this name.")
		}
		seen[tool.Name] = true
		tools = append(tools, tool)
	}
	return tools, nil
}

// maxToolsBytes is how large the tools of an agent may be, as JSON without spaces.
const maxToolsBytes = 3 << 20

// check refuses settings that no prompt could ask for. at is the JSON pointer of the
// body that they come from.
func (s settings) check(at string, limits sessions.Limits) error {
	if size := int64(len(s.Instructions)); size > limits.MessageBytes {
		return sessions.TooLarge("messageBytes", limits.MessageBytes, "The instructions have %d bytes, more than the limit of %d.",
			size, limits.MessageBytes).With("field", at+"/instructions")
	}
	var tools bytes.Buffer
	encoder := json.NewEncoder(&tools)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s.Tools); err != nil {
		return err
	}
	if tools.Len() > maxToolsBytes {
		return invalid(dotted(at+"/tools"), "The tools have %d bytes, more than the %d that an agent's may have.", tools.Len(), maxToolsBytes)
	}
	args := s.prompt(api.Address{SessionID: "new"}, sessions.Text("any"))
	err := args.Validate(limits)
	if e, ok := errors.AsType[*sessions.Error](err); ok && e.Details["field"] == "/args/clientTools" {
		return e.With("field", at+"/tools")
	}
	return err
}
