package agentsv1

import (
	"context"
	"encoding/json"
	"strings"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// settingsName is the named value of a session's state that holds its settings.
const settingsName = "agents.v1"

// functionRoot is where the paths of a session's function tools begin. The host has
// nothing there: its client runs them.
const functionRoot = "/functions/"

// settings are what a session of this API asks of its agent beyond the profile.
type settings struct {
	Name         string          `json:"name,omitempty"`  // of the saved agent, when it was copied
	Model        string          `json:"model,omitempty"` // as it was asked for
	Instructions string          `json:"instructions,omitempty"`
	Tools        []functionTool  `json:"tools,omitempty"`
	Effort       sessions.Effort `json:"effort,omitempty"`
	Schema       json.RawMessage `json:"schema,omitempty"` // of every answer
}

// functionTool is a tool that the client runs.
type functionTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// settingsOf reads a session's settings; those of a session that another face has
// made are zero.
func settingsOf(ctx context.Context, access *host.Access, s sessions.Session) (settings, error) {
	var found settings
	got, err := access.State(ctx, &api.StateArgs{Address: api.Address{SessionID: s.ID, Owner: s.Owner}, Name: settingsName})
	if err != nil {
		return found, err
	}
	if value, ok := got.State[settingsName]; ok {
		_ = json.Unmarshal(value.Value, &found) // what another client has written over it means nothing here
	}
	return found, nil
}

// prompt returns a prompt that asks for what the settings say.
func (s settings) prompt(at api.Address, content []sessions.Content) api.PromptArgs {
	args := api.PromptArgs{Address: at, Content: content, Busy: sessions.BusySteer, Wait: api.WaitAccepted,
		AnswerSchema: s.Schema, Instructions: s.Instructions}
	if s.Effort != "" {
		args.Params = &sessions.Params{Effort: s.Effort}
	}
	for _, tool := range s.Tools {
		args.ClientTools = append(args.ClientTools, sessions.ClientTool{
			Path: functionRoot + tool.Name, Description: tool.Description, Schema: tool.Parameters})
	}
	return args
}

// functionName is the name under which this API shows the tool at a path: that of the
// session's function, else the one by which models call the tool.
func functionName(path string) string {
	if name, ok := strings.CutPrefix(path, functionRoot); ok {
		return name
	}
	return sessions.FunctionName(path)
}
