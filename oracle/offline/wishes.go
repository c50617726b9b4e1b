package offline

import (
	"encoding/json"
	"fmt"
	"strings"

	"agenthost/oracle"
	"agenthost/sessions"
)

// callWord begins a line that asks for a tool call.
const callWord = "/call"

// wishes returns the tool calls that the last user message asks for, or what
// is wrong with one of its lines.
func (c conversation) wishes() (calls []oracle.ToolCall, problem string) {
	for line := range strings.Lines(c.asked()) {
		line = strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(line, callWord)
		if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		path, args := splitCall(rest)
		if path == "" || !isObject(args) {
			return nil, fmt.Sprintf("I cannot read the line %q. A call is written %s <path> <json object>, such as: %s builtin/time {}",
				shorten(line), callWord, callWord)
		}
		calls = append(calls, oracle.ToolCall{Function: "/" + strings.TrimPrefix(path, "/"), Args: args})
	}
	c.giveIDs(calls)
	return calls, ""
}

// splitCall parts what follows callWord into path and arguments; absent
// arguments are an empty object.
func splitCall(rest string) (path, args string) {
	rest = strings.TrimSpace(rest)
	at := strings.IndexAny(rest, " \t{")
	if at < 0 {
		return rest, "{}"
	}
	return rest[:at], strings.TrimSpace(rest[at:])
}

func isObject(args string) bool {
	return strings.HasPrefix(args, "{") && json.Valid([]byte(args))
}

// giveIDs names calls after the message that asked for them. A seeded history
// may hold such an id already; then the next free one is taken.
func (c conversation) giveIDs(calls []oracle.ToolCall) {
	if len(calls) == 0 {
		return
	}
	taken := map[sessions.CallID]bool{}
	for _, m := range c.messages {
		for _, call := range m.ToolCalls {
			taken[call.ID] = true
		}
	}
	n := 0
	for i := range calls {
		for calls[i].ID == "" || taken[calls[i].ID] {
			n++
			calls[i].ID = sessions.CallID(fmt.Sprintf("call-%d-%d", c.messages[c.last].Seq, n))
		}
	}
}
