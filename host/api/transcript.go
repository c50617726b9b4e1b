package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// checkTranscript checks each message of a seed by itself; that calls and
// results pair up is sessions.CheckPairing's.
func checkTranscript(field string, messages []SeedMessage, limits sessions.Limits) error {
	if len(messages) == 0 {
		return sessions.InvalidField(field, "A seed needs at least one message.")
	}
	if len(messages) > limits.SeedMessages {
		return sessions.TooLarge("seedMessages", int64(limits.SeedMessages),
			"The seed has %d messages, more than the limit of %d.", len(messages), limits.SeedMessages).With("field", field)
	}
	for i, m := range messages {
		at := strictjson.PointerAt(field, i)
		bound := contentBound{"messageBytes", limits.MessageBytes}
		if m.Role == sessions.RoleTool {
			bound = contentBound{"toolResultBytes", limits.ToolResultBytes}
		}
		err := cmp.Or(m.checkRole(at), m.checkPresence(at),
			checkContent(at+"/content", m.Content, limits, bound), m.checkCalls(at, limits), m.checkError(at))
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRole checks that the message has no field that its role has not.
func (m SeedMessage) checkRole(at string) error {
	switch {
	case m.Role != sessions.RoleAssistant && len(m.ToolCalls) > 0:
		return sessions.InvalidField(at+"/toolCalls", "Only an assistant message makes tool calls.")
	case m.Role != sessions.RoleAssistant && m.Interrupted:
		return sessions.InvalidField(at+"/interrupted", "Only an assistant message can be interrupted.")
	case m.Role != sessions.RoleTool && m.ToolCallID != "":
		return sessions.InvalidField(at+"/toolCallId", "Only a tool message answers a call.")
	case m.Role != sessions.RoleTool && m.Error != nil:
		return sessions.InvalidField(at+"/error", "Only a tool message carries an error.")
	}
	return exactlyOneOf(at+"/role", m.Role, sessions.RoleSystem, sessions.RoleUser, sessions.RoleAssistant, sessions.RoleTool)
}

// checkPresence checks that the message says something.
func (m SeedMessage) checkPresence(at string) error {
	switch {
	case m.Role == sessions.RoleTool && m.ToolCallID == "":
		return sessions.InvalidField(at+"/toolCallId", "A tool message names the call it answers.")
	case len(m.Content) > 0 || len(m.ToolCalls) > 0 || m.Error != nil:
		return nil
	}
	return sessions.InvalidField(at+"/content", "The message must have content.")
}

func (m SeedMessage) checkCalls(at string, limits sessions.Limits) error {
	if m.ToolCallID != "" {
		if err := checkCallID(at+"/toolCallId", m.ToolCallID); err != nil {
			return err
		}
	}
	if len(m.ToolCalls) > limits.CallsPerStep {
		return sessions.TooLarge("callsPerStep", int64(limits.CallsPerStep),
			"The message makes %d calls, more than the limit of %d.", len(m.ToolCalls), limits.CallsPerStep).With("field", at+"/toolCalls")
	}
	var size int64
	for i, call := range m.ToolCalls {
		in := strictjson.PointerAt(at+"/toolCalls", i)
		if err := cmp.Or(checkCallID(in+"/id", call.ID), checkCallPath(in+"/path", call.Path), checkCallArgs(in+"/args", call.Args)); err != nil {
			return err
		}
		size += int64(len(call.Args))
	}
	if size > limits.MessageBytes {
		return sessions.TooLarge("messageBytes", limits.MessageBytes,
			"The calls' arguments have %d bytes, more than the limit of %d.", size, limits.MessageBytes).With("field", at+"/toolCalls")
	}
	return nil
}

// checkCallPath checks only the form of a path: a transcript may tell of tools
// that this host never had.
func checkCallPath(field, path string) error {
	if err := checkName(field, path); err != nil {
		return err
	}
	if !strings.HasPrefix(path, "/") {
		return sessions.InvalidField(field, "A call's path begins with a slash.")
	}
	return nil
}

func checkCallArgs(field string, args json.RawMessage) error {
	if trimmed := bytes.TrimLeft(args, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return sessions.InvalidField(field, "The arguments of a call must be an object.")
	}
	return checkRaw(field, args)
}

func (m SeedMessage) checkError(at string) error {
	if m.Error == nil {
		return nil
	}
	known := slices.ContainsFunc(sessions.Codes(), func(row sessions.CodeInfo) bool { return row.Code == m.Error.Code })
	if !known {
		return sessions.InvalidField(at+"/error/code", "The code must be one of the host's error codes.")
	}
	return checkText(at+"/error/message", m.Error.Message)
}
