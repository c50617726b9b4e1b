package config

import (
	"bytes"
	"encoding/json"

	"agenthost/sessions"
	"agenthost/tools"
)

// readClientTools reads a list of tools that clients run, or its JSON text.
func readClientTools(raw any) (any, string) {
	const complaint = "must be a list of tools with path, description and schema, such as [{path: /client/pick, description: Lets the user pick.}]"
	text, isText := raw.(string)
	if !isText {
		written, err := json.Marshal(raw)
		if err != nil {
			return nil, complaint
		}
		text = string(written)
	}
	list, ok := clientToolsOf(text)
	if !ok {
		return nil, complaint
	}
	if _, err := tools.ClientTools("", list); err != nil {
		return nil, "has a tool that cannot be used: " + sessions.AsError(err).Message
	}
	return text, ""
}

func clientToolsOf(text string) (list []sessions.ClientTool, ok bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	err := d.Decode(&list)
	return list, err == nil && !d.More()
}

// ClientToolList is what ClientTools lists.
func (p Profile) ClientToolList() []sessions.ClientTool {
	if p.ClientTools == "" {
		return nil
	}
	list, _ := clientToolsOf(p.ClientTools) // it was checked when it was read
	return list
}
