package subagent

import (
	"encoding/json"

	"agenthost/sessions"
	"agenthost/tools"
)

// action is what a call asks for.
type action string

const (
	ask       action = "ask"
	spawn     action = "spawn"
	message   action = "message"
	wait      action = "wait"
	list      action = "list"
	terminate action = "terminate"
)

// args are the arguments of a call.
type args struct {
	Prompt string `json:"prompt"`
	Name   string `json:"name"`
	Action action `json:"action"`
}

// argsSchema describes args to models.
const argsSchema = `{
	"type": "object",
	"properties": {
		"prompt": {"type": "string", "description": "what the agent is to do, with all it needs to know: it sees nothing of this conversation"},
		"name": {"type": "string", "minLength": 1, "maxLength": 64, "description": "the companion that is meant: an agent that is kept, and remembers what it was told"},
		"action": {"type": "string", "enum": ["ask", "spawn", "message", "wait", "list", "terminate"], "default": "ask", "description": "ask: prompt an agent and get its answer. spawn: make a companion, let it begin with the prompt if there is one, and do not wait. message: prompt a companion there is and get its answer. wait: get the answer a companion is working on, or its last. list: show the companions. terminate: end a companion."}
	},
	"additionalProperties": false
}`

// readArgs reads the arguments of a call and checks that they fit together.
func readArgs(raw json.RawMessage) (args, error) {
	a := args{Action: ask}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, err
	}
	switch {
	case a.Prompt == "" && (a.Action == ask || a.Action == message):
		return a, failure("The action %q needs a prompt.", a.Action)
	case a.Prompt != "" && (a.Action == wait || a.Action == list || a.Action == terminate):
		return a, failure("The action %q takes no prompt.", a.Action)
	case a.Name == "" && a.Action != ask && a.Action != list:
		return a, failure("The action %q needs the name of a companion.", a.Action)
	case a.Name != "" && a.Action == list:
		return a, failure("The action %q takes no name; it shows all companions.", a.Action)
	}
	if a.Name != "" {
		if err := sessions.CheckKeyPart("/name", a.Name); err != nil {
			return a, failure("The name of a companion is made of printable characters.")
		}
	}
	return a, nil
}

func failure(format string, args ...any) *tools.Failure {
	return &tools.Failure{Message: sessions.Errorf(sessions.CodeToolInvokeFailed, format, args...).Message}
}
