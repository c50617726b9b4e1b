package mcp

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"agenthost/sessions"
	"agenthost/tools"
)

var (
	errParted = errors.New("the session has ended")
	errHalted = errors.New("the MCP servers are being stopped")
)

// isAnswer reports whether err is what the server answered, in a session that
// goes on.
func isAnswer(err error) bool {
	_, ok := errors.AsType[*jsonrpc.Error](err)
	return ok
}

func (s *server) errAway() *sessions.Error {
	return sessions.Errorf(sessions.CodeToolInvokeFailed,
		"The MCP server %q is not there now, so the tool was not run; the host keeps trying to reach the server.", s.about.Name)
}

func (s *server) errBroke(cause error) *sessions.Error {
	return sessions.Errorf(sessions.CodeToolInvokeFailed,
		"The session with the MCP server %q broke during the call, so nobody knows whether the tool ran.", s.about.Name).Because(s.redact(cause))
}

// errRefused is about an answer that is no result. What is wrong with the
// arguments is for the model to know.
func (s *server) errRefused(err error) error {
	if answer, ok := errors.AsType[*jsonrpc.Error](err); ok && answer.Code == jsonrpc.CodeInvalidParams {
		return &tools.Failure{Message: "The MCP server refuses the call: " + answer.Message}
	}
	return sessions.Errorf(sessions.CodeToolInvokeFailed,
		"The MCP server %q could not run the tool.", s.about.Name).Because(s.redact(err))
}
