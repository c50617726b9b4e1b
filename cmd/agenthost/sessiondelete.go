package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// deleteFlags are the flags of sessions delete.
type deleteFlags struct {
	sessionCommand
	ifBusy, children string
	grace            time.Duration
}

func (a *app) deleteCommand() *cobra.Command {
	var f deleteFlags
	command := f.make(a, &cobra.Command{
		Use:   "delete",
		Short: "Delete a session with everything of it and all below it, and print the receipt",
		Long: `Delete a session with everything of it and its local sub-sessions, and print the
receipt. What is still being removed when the grace is over is removed without
anybody waiting for it.`,
	}, func(ctx context.Context, conn *connection, at api.Address) error {
		done, err := conn.SessionDelete(ctx, api.SessionDeleteArgs{
			Address: at, IfBusy: api.IfBusy(f.ifBusy), Children: sessions.ChildPolicy(f.children),
			DeleteGraceMs: new(f.grace.Milliseconds()),
		})
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(done)
		}
		if !done.Deleted {
			_, err := fmt.Fprintln(a.stdout, "there is no such session")
			return err
		}
		return a.printReceipt(*done.Receipt, done.Teardown)
	})
	flags := command.Flags()
	flags.StringVar(&f.ifBusy, "if-busy", string(api.IfBusyCancel), "`what` to do when a turn of the session or one below it is under way: cancel it, or reject, which changes nothing")
	flags.StringVar(&f.children, "children", string(sessions.Cascade), "`what` to do with local sub-sessions: cascade deletes them too, detach lets them live on as roots")
	flags.DurationVar(&f.grace, "grace", api.DefaultDeleteGraceMs*time.Millisecond, "the longest `time` to wait for the removal to be done, at most 1m")
	return command
}

// printReceipt says what was removed.
func (a *app) printReceipt(r sessions.Receipt, rest api.Teardown) error {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(r.Rows)) {
		if n := r.Rows[name]; n > 0 {
			rows = append(rows, fmt.Sprintf("  %-20s %d\n", name, n))
		}
	}
	if r.Files > 0 {
		rows = append(rows, fmt.Sprintf("  %-20s %d\n", "files", r.Files))
	}
	state := "complete"
	if rest == api.TeardownPending || !r.Complete {
		state = "the rest follows in the background"
	}
	if r.Compacted {
		state += ", no byte of it is left"
	}
	_, err := fmt.Fprintf(a.stdout, "deleted %s, %s\n%s", counted(r.Sessions, "session"), state, strings.Join(rows, ""))
	return err
}
