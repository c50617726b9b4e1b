package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// promptFlags are the flags of prompt.
type promptFlags struct {
	at                    addressFlags
	requestID, busy, wait string
	json                  bool
}

func (a *app) promptCommand() *cobra.Command {
	var f promptFlags
	command := &cobra.Command{
		Use:   "prompt TEXT | -",
		Short: "Send one prompt and print its answer",
		Long: `Send one prompt and print the answer as it comes. "-" reads the prompt from stdin.
The answer goes to stdout, what tools do and everything else to stderr.

Without --session or --target a new session is made and its id printed to stderr.
A request id makes a prompt safe to repeat: it runs once, and a repetition gets
the same answer. SIGINT cancels the turn. With --json the reply is printed when
the turn has ended, as one value.`,
		Args: cobra.ExactArgs(1),
		RunE: a.doesUninterrupted(func(ctx context.Context, args []string) error { return a.prompt(ctx, &f, args[0]) }),
	}
	f.at.add(command)
	flags := command.Flags()
	flags.StringVar(&f.requestID, "request-id", "", "`id` that makes the prompt safe to repeat")
	flags.StringVar(&f.busy, "busy", "", "`what` to do when the session is busy: reject, queue, interrupt or steer (default reject)")
	flags.StringVar(&f.wait, "wait", "", "wait `until` the turn is done or pending, or only until the prompt is accepted (default done)")
	jsonFlag(command, &f.json)
	a.hostFlag(command)
	return command
}

// check refuses what cannot be meant.
func (f *promptFlags) check() error {
	waits := []api.Wait{"", api.WaitDone, api.WaitPending, api.WaitAccepted}
	switch {
	case f.busy != "" && !slices.Contains(sessions.BusyPolicies(), sessions.BusyPolicy(f.busy)):
		return usagef("--busy is %q, but must be reject, queue, interrupt or steer", f.busy)
	case !slices.Contains(waits, api.Wait(f.wait)):
		return usagef("--wait is %q, but must be done, pending or accepted", f.wait)
	case f.requestID != "" && f.at.isZero():
		return usagef("--request-id needs --session or --target: in a new session nothing can be repeated")
	case !f.at.isZero():
		_, err := f.at.address(nil)
		return err
	}
	return nil
}

func (a *app) prompt(ctx context.Context, f *promptFlags, text string) error {
	if err := f.check(); err != nil {
		return err
	}
	if text == "-" {
		all, err := a.readPrompt()
		if err != nil {
			return err
		}
		text = strings.TrimSuffix(all, "\n")
	}
	if text == "" {
		return usagef("the prompt is empty")
	}
	return a.withHost(ctx, func(conn *connection) error {
		at, err := a.addressOrNew(ctx, conn, &f.at)
		if err != nil {
			return err
		}
		args := api.PromptArgs{
			Address: at, Text: text, RequestID: sessions.RequestID(f.requestID),
			Busy: sessions.BusyPolicy(f.busy), Wait: api.Wait(f.wait),
		}
		if f.json {
			result, err := conn.ask(ctx, args, nil)
			if err != nil {
				return err
			}
			return a.printJSON(result)
		}
		result, err := a.promptStreaming(ctx, conn, args)
		if err == nil && result.Status != api.PromptCompleted {
			a.complain("%s: turn %s, request %s, session %s", result.Status, result.TurnID, result.RequestID, result.SessionID)
		}
		return err
	})
}

// readPrompt reads a prompt from stdin, which may never end: no more than a
// request can hold.
func (a *app) readPrompt() (string, error) {
	limit := sessions.DefaultLimits().EnvelopeBytes
	all, err := io.ReadAll(io.LimitReader(a.stdin, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(all)) > limit {
		return "", sessions.TooLarge("envelopeBytes", limit, "The prompt on stdin has more than the %d bytes of a request.", limit)
	}
	if !utf8.Valid(all) {
		return "", sessions.InvalidField("/args/text", "The prompt on stdin is not valid UTF-8.")
	}
	return string(all), nil
}

// promptStreaming shows the turn of a prompt as it comes.
func (a *app) promptStreaming(ctx context.Context, conn *connection, args api.PromptArgs) (*api.PromptResult, error) {
	return a.promptWith(ctx, conn, args, a.newFramePrinter())
}

// promptWith sends a prompt and has its turn shown by a printer.
func (a *app) promptWith(ctx context.Context, conn *connection, args api.PromptArgs, printer *framePrinter) (*api.PromptResult, error) {
	result, err := conn.ask(ctx, args, printer.print)
	if endErr := printer.endLine(); err == nil {
		err = endErr
	}
	return result, err
}
