package tools

import (
	"context"
	"time"

	"agenthost/sessions"
)

// Where the tools are that every host has.
const (
	TimePath = "/builtin/time"
	EchoPath = "/builtin/echo"
)

// MountBuiltins mounts the tools that every host has, so that a fresh one has
// something to call. now is the clock that TimePath reads.
func MountBuiltins(t *Tree, now func() time.Time) error {
	if err := t.Mount(TimePath, timeTool(now)); err != nil {
		return err
	}
	return t.Mount(EchoPath, echoTool())
}

func timeTool(now func() time.Time) Tool {
	return MustFunc("Returns the present time in UTC, as an RFC 3339 text.",
		func(context.Context, Call, struct{}) (sessions.Time, error) {
			return sessions.TimeOf(now()), nil
		}, Repeatable())
}

type echoArgs struct {
	Text string `json:"text" jsonschema:"what to return"`
}

func echoTool() Tool {
	return MustFunc("Returns the given text.",
		func(_ context.Context, _ Call, in echoArgs) (string, error) { return in.Text, nil }, Repeatable())
}
