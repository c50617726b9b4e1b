// Package mcp mounts the tools of MCP servers.
//
// It owns the servers' processes and sessions: it starts them, follows their
// lists of tools, starts them again when they are gone, and makes their results
// into outputs. It does not own the tree that the tools are mounted in, nor how
// long a call may take or how large its output may be. It is the only package
// that knows the SDK.
package mcp
