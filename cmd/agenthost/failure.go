package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"agenthost/host/client"
	"agenthost/sessions"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
)

// usageError says that the command was used wrongly.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// report tells the user of an error and returns the exit code.
func (a *app) report(command *cobra.Command, err error) int {
	if err == nil {
		return exitDone
	}
	_, isUsage := errors.AsType[*usageError](err)
	switch {
	case isUsage || !a.began:
		a.complain("agenthost: %s\nTry %q.", err, command.CommandPath()+" --help")
		return exitUsage
	case errors.Is(err, client.ErrUnreachable):
		a.complain("agenthost: %s", err)
		return exitUnreachable
	default:
		a.complain("%s", describe(err))
		if sessions.CodeOf(err) == sessions.CodeUnauthenticated {
			a.complain("agenthost: the key is read from AGENTHOST_KEY, or from the file that --key-file names")
		}
	}
	return exitFailed
}

// describe returns an error as its code and a sentence, and the field that it is
// about.
func describe(err error) string {
	coded, hasCode := errors.AsType[*sessions.Error](err)
	switch {
	case hasCode:
		text := string(coded.Code) + ": " + coded.Message
		if field, ok := coded.Details["field"].(string); ok && field != "" {
			text += " (" + field + ")"
		}
		return text
	case errors.Is(err, context.Canceled):
		return string(sessions.CodeCancelled) + ": The command was interrupted."
	default:
		return string(sessions.CodeInternal) + ": " + err.Error()
	}
}

// complain writes a line to stderr.
func (a *app) complain(format string, args ...any) {
	// Where stderr takes nothing there is nobody left to tell.
	_, _ = fmt.Fprintf(a.stderr, format+"\n", args...)
}
