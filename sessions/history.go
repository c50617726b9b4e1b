package sessions

import "strconv"

// OpenCalls returns the calls of history that have no result yet, in call
// order. Only the last assistant message with calls can have any.
func OpenCalls(history []Message) []ToolCall {
	answered := map[CallID]bool{}
	for i := len(history) - 1; i >= 0; i-- {
		switch m := history[i]; {
		case m.Role == RoleTool:
			answered[m.ToolCallID] = true
		case len(m.ToolCalls) > 0:
			var open []ToolCall
			for _, c := range m.ToolCalls {
				if !answered[c.ID] {
					open = append(open, c)
				}
			}
			return open
		}
	}
	return nil
}

// ErrCallCut is the result of a call that ended before it gave one.
var ErrCallCut = Errorf(CodeCancelled, "The call was interrupted before it gave a result; it may have had effects.")

// CutResults returns the results that close history where it ends: one for each
// open call, in call order, that says that the call was interrupted.
func CutResults(history []Message) []Message {
	open := OpenCalls(history)
	results := make([]Message, len(open))
	for i, c := range open {
		results[i] = Message{Role: RoleTool, ToolCallID: c.ID, Error: ErrCallCut.Info()}
	}
	return results
}

// CheckPairing returns INVALID_REQUEST unless every tool call of messages has
// exactly one result, directly after the message that made the call, and every
// result has its call. field is the JSON pointer of the list.
func CheckPairing(field string, messages []Message) error {
	open := map[CallID]bool{}
	seen := map[CallID]bool{}
	for i, m := range messages {
		at := field + "/" + strconv.Itoa(i)
		if m.Role == RoleTool {
			if !open[m.ToolCallID] {
				return InvalidField(at+"/toolCallId", "The result of call %q has no open call before it.", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return InvalidField(at, "%d tool calls before this message have no result.", len(open))
		}
		for _, c := range m.ToolCalls {
			if m.Role != RoleAssistant {
				return InvalidField(at+"/toolCalls", "Only an assistant message makes tool calls.")
			}
			if c.ID == "" || seen[c.ID] {
				return InvalidField(at+"/toolCalls", "Call id %q is empty or used twice.", c.ID)
			}
			seen[c.ID], open[c.ID] = true, true
		}
	}
	if len(open) > 0 {
		return InvalidField(field, "%d tool calls at the end have no result.", len(open))
	}
	return nil
}
