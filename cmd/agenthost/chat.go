package main

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/sessions"
)

func (a *app) chatCommand() *cobra.Command {
	var at addressFlags
	command := &cobra.Command{
		Use:   "chat",
		Short: "Talk to a session",
		Long: `Talk to a session, a line a prompt. Answers are printed as they come. On a
terminal lines can be edited, Ctrl-C cancels the turn that runs or empties the
line, and Ctrl-D leaves. Elsewhere the first prompt that fails ends the chat. When
a turn waits for an approval, or for what a tool of the client's gives, the next
line is the answer; who leaves instead leaves the turn waiting.

Without --session or --target a new session is made and its id printed to stderr.`,
		Args: cobra.NoArgs,
		RunE: a.doesUninterrupted(func(ctx context.Context, _ []string) error {
			if !at.isZero() {
				if _, err := at.address(nil); err != nil {
					return err
				}
			}
			return a.withHost(ctx, func(conn *connection) error { return a.chat(ctx, conn, &at) })
		}),
	}
	at.add(command)
	a.hostFlag(command)
	return command
}

func (a *app) chat(ctx context.Context, conn *connection, f *addressFlags) error {
	at, err := a.addressOrNew(ctx, conn, f)
	if err != nil {
		return err
	}
	lines, onTerminal := a.newLineReader()
	if onTerminal {
		a.complain("%s", a.dim(a.stderr, "Ctrl-C cancels a turn, Ctrl-D leaves."))
	}
	for {
		line, err := a.nextPrompt(ctx, lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line == "" {
			continue
		}
		err = a.promptInChat(ctx, conn, lines, api.PromptArgs{Address: at, Text: line})
		switch {
		case errors.Is(err, errLeft):
			a.complain("The turn goes on waiting.")
			return nil
		case err != nil && onTerminal && canGoOn(ctx, err):
			a.complain("%s", describe(err))
		case err != nil:
			return err
		}
	}
}

// nextPrompt waits for a line. SIGINT ends the waiting.
func (a *app) nextPrompt(ctx context.Context, lines lineReader) (string, error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT)
	defer stop()
	line, err := a.awaitLine(ctx, lines)
	return strings.TrimSpace(line), err
}

// canGoOn reports whether a chat has a sense after a prompt that failed.
func canGoOn(ctx context.Context, err error) bool {
	_, hasCode := errors.AsType[*sessions.Error](err)
	return ctx.Err() == nil && hasCode && !errors.Is(err, client.ErrUnreachable)
}
