package agentsv1

import "encoding/json"

// toolBody is a function tool.
type toolBody struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Parameters   json.RawMessage `json:"parameters"`
	Async        bool            `json:"async"`
	DeferLoading bool            `json:"defer_loading"`
}

// maxToolName is the longest name of a function, in characters.
const maxToolName = 64

func functionOf(raw json.RawMessage, at string) (functionTool, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &kind) != nil || kind.Type != "function" {
		return functionTool{}, invalid(dotted(at+"/type"), "This host offers tools of the type function only.")
	}
	var tool toolBody
	if err := decode(raw, at, &tool); err != nil {
		return functionTool{}, err
	}
	if tool.Async || tool.DeferLoading {
		return functionTool{}, invalid(dotted(at), "This host offers neither async nor defer_loading; leave them out.")
	}
	if !isFunctionName(tool.Name) {
		return functionTool{}, invalid(dotted(at+"/name"), "A function's name is 1 to %d of letters, digits, _ and -.", maxToolName)
	}
	if err := checkObject(tool.Parameters, dotted(at+"/parameters")); err != nil {
		return functionTool{}, err
	}
	return functionTool{tool.Name, tool.Description, tool.Parameters}, nil
}

func isFunctionName(name string) bool {
	for _, r := range name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return name != "" && len(name) <= maxToolName
}

// checkObject refuses a schema that is no JSON object.
func checkObject(raw json.RawMessage, param string) error {
	if len(raw) == 0 || raw[0] != '{' {
		return invalid(param, "A schema is a JSON object.")
	}
	return nil
}
