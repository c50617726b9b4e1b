package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// answerFlags are the flags of answer.
type answerFlags struct {
	at               addressFlags
	approve, decline bool
	output, failure  string
	json             bool
}

func (a *app) answerCommand() *cobra.Command {
	var f answerFlags
	command := &cobra.Command{
		Use:   "answer [CALL]",
		Short: "Answer a call that a turn waits for",
		Long: `Answer a call that a turn waits for: approve or decline it, or give what a tool
of the client's has for it. An approval names its call, so that none is let run
unseen; otherwise the only one that waits is meant when no call is named. The turn
goes on once every call has its answer.`,
		Args: cobra.MaximumNArgs(1),
	}
	command.RunE = a.does(func(ctx context.Context, args []string) error {
		given, err := f.answer(command)
		if err != nil {
			return err
		}
		at, err := f.at.address(nil)
		if err != nil {
			return err
		}
		return a.withHost(ctx, func(conn *connection) error {
			given.Address = at
			if given.CallID, err = callOf(ctx, conn, given, args); err != nil {
				return err
			}
			return a.answer(ctx, conn, given, f.json)
		})
	})
	f.at.add(command)
	flags := command.Flags()
	flags.BoolVar(&f.approve, "approve", false, "let the tool run")
	flags.BoolVar(&f.decline, "decline", false, "do not let the tool run")
	flags.StringVar(&f.output, "output", "", "the tool's output, as `JSON`")
	flags.StringVar(&f.failure, "error", "", "why there is no output, a `text` for the model")
	jsonFlag(command, &f.json)
	a.hostFlag(command)
	return command
}

// answer is the one answer that the flags give.
func (f *answerFlags) answer(command *cobra.Command) (api.AnswerArgs, error) {
	var args api.AnswerArgs
	given := 0
	for name, set := range map[string]func(){
		"approve": func() { args.Approve = new(f.approve) },
		"decline": func() { args.Approve = new(!f.decline) },
		"output":  func() { args.Output = json.RawMessage(f.output) },
		"error":   func() { args.Error = &f.failure },
	} {
		if command.Flags().Changed(name) {
			set()
			given++
		}
	}
	switch {
	case given != 1:
		return args, usagef("an answer is one of --approve, --decline, --output and --error")
	case args.Output != nil && !json.Valid(args.Output):
		return args, usagef("--output is no JSON; put text in quotes, as in '\"yes\"'")
	}
	return args, nil
}

// callOf returns the call that is named, or the only one that waits.
func callOf(ctx context.Context, conn *connection, given api.AnswerArgs, args []string) (sessions.CallID, error) {
	if len(args) > 0 {
		return sessions.CallID(args[0]), nil
	}
	got, err := conn.SessionGet(ctx, api.SessionGetArgs{Address: given.Address})
	if err != nil {
		return "", err
	}
	pending := got.Session.Pending
	switch {
	case len(pending) == 0:
		return "", sessions.Errorf(sessions.CodeNotFound, "No call of the session waits for an answer.")
	case given.Approve != nil && *given.Approve:
		return "", usagef("an approval names its call; there wait: %s", listed(pending))
	case len(pending) > 1:
		return "", usagef("%d calls wait, name one of them: %s", len(pending), listed(pending))
	}
	return pending[0].CallID, nil
}

// listed tells calls apart for whoever is to name one.
func listed(pending []sessions.Pending) string {
	calls := make([]string, len(pending))
	for i, p := range pending {
		calls[i] = fmt.Sprintf("%s of %s with %s", p.CallID, p.Path, p.Args)
	}
	return strings.Join(calls, ", ")
}

func (a *app) answer(ctx context.Context, conn *connection, args api.AnswerArgs, json bool) error {
	done, err := conn.Answer(ctx, args)
	if err != nil {
		return err
	}
	if json {
		return a.printJSON(done)
	}
	_, err = fmt.Fprintln(a.stdout, "accepted")
	return err
}
