package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// clearFlags are the flags of sessions clear.
type clearFlags struct{ yes, json bool }

func (a *app) clearCommand() *cobra.Command {
	var f clearFlags
	command := &cobra.Command{
		Use:   "clear",
		Short: "Delete all sessions, and print the receipt",
		Long: `Delete all sessions with everything of them, and print the receipt.

It shows what it will destroy and asks first. --yes skips that; without a
terminal to ask on, and without --yes, it refuses with exit code 2.`,
		Args: cobra.NoArgs,
		RunE: a.does(func(ctx context.Context, _ []string) error {
			if !f.yes && !isTerminal(a.stdin) {
				return usagef("sessions clear asks before it deletes all sessions, and there is no terminal to ask on; --yes goes ahead")
			}
			return a.withHost(ctx, func(conn *connection) error { return a.clear(ctx, conn, f) })
		}),
	}
	command.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	jsonFlag(command, &f.json)
	a.hostFlag(command)
	return command
}

func (a *app) clear(ctx context.Context, conn *connection, f clearFlags) error {
	if !f.yes {
		if err := a.confirmClear(ctx, conn); err != nil {
			return err
		}
	}
	working := a.showProgress("clearing")
	done, err := conn.SessionClearAll(ctx, api.SessionClearAllArgs{})
	working.end()
	if err != nil {
		return err
	}
	if f.json {
		return a.printJSON(done)
	}
	return a.printReceipt(done.Receipt, done.Teardown)
}

// confirmClear shows what a clear destroys, and returns an error unless the user
// says yes.
func (a *app) confirmClear(ctx context.Context, conn *connection) error {
	all, err := countSessions(ctx, conn)
	if err != nil {
		return err
	}
	a.complain("This deletes %s with %s at %s:", counted(all.sessions, "session"), counted(all.messages, "message"), conn.Place)
	for _, s := range all.newest {
		a.complain("  %s", oneLine(fmt.Sprintf("%s  %s  %s %s", s.ID, ago(s.LastActiveAt), s.TargetKey, s.Preview), tableWidth-columnGap))
	}
	if more := all.sessions - int64(len(all.newest)); more > 0 {
		a.complain("  and %d more", more)
	}
	if _, err := fmt.Fprint(a.stderr, `Type "yes" to go on: `); err != nil {
		return err
	}
	answer, err := a.awaitLine(ctx, bufio.NewReader(a.stdin))
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return sessions.Errorf(sessions.CodeCancelled, "Nothing was deleted.").Because(err)
	}
	return nil
}

// shownSessions is how many sessions a clear names before it asks.
const shownSessions = 5

// sessionCount is what there is to be deleted.
type sessionCount struct {
	sessions, messages int64
	newest             []sessions.Session
}

func countSessions(ctx context.Context, conn *connection) (sessionCount, error) {
	var all sessionCount
	args := api.SessionListArgs{Limit: new(api.MaxPageLimit)}
	for {
		page, err := conn.SessionList(ctx, args)
		if err != nil {
			return all, err
		}
		for _, s := range page.Sessions {
			all.sessions++
			all.messages += s.MessageCount
			if len(all.newest) < shownSessions {
				all.newest = append(all.newest, s)
			}
		}
		if page.NextCursor == "" {
			return all, nil
		}
		args.Cursor = page.NextCursor
	}
}
