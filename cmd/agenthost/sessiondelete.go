package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

func (a *app) deleteCommand() *cobra.Command {
	var s sessionCommand
	var rejectIfBusy bool
	command := s.make(a, &cobra.Command{
		Use:   "delete",
		Short: "Delete a session with everything of it, and print the receipt",
	}, func(ctx context.Context, conn *connection, at api.Address) error {
		args := api.SessionDeleteArgs{Address: at}
		if rejectIfBusy {
			args.IfBusy = api.IfBusyReject
		}
		done, err := conn.SessionDelete(ctx, args)
		if err != nil {
			return err
		}
		if s.json {
			return a.printJSON(done)
		}
		if !done.Deleted {
			_, err := fmt.Fprintln(a.stdout, "there is no such session")
			return err
		}
		return a.printReceipt(*done.Receipt, done.Teardown)
	})
	command.Flags().BoolVar(&rejectIfBusy, "reject-if-busy", false, "change nothing when a turn is under way, instead of cancelling it")
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
	state := "complete"
	if rest == api.TeardownPending || !r.Complete {
		state = "the rest follows in the background"
	}
	_, err := fmt.Fprintf(a.stdout, "deleted %s, %s\n%s", counted(r.Sessions, "session"), state, strings.Join(rows, ""))
	return err
}
