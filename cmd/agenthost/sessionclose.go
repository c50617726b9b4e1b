package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"agenthost/host/api"
)

func (a *app) closeCommand() *cobra.Command {
	var s sessionCommand
	var reason string
	command := s.make(a, &cobra.Command{
		Use:   "close",
		Short: "Close a session: it is kept and takes no more prompts",
	}, func(ctx context.Context, conn *connection, at api.Address) error {
		done, err := conn.SessionClose(ctx, api.SessionCloseArgs{Address: at, Reason: reason})
		if err != nil {
			return err
		}
		if s.json {
			return a.printJSON(done)
		}
		_, err = fmt.Fprintf(a.stdout, "closed at %s\n", done.Session.ClosedAt)
		return err
	})
	command.Flags().StringVar(&reason, "reason", "", "the `reason`, kept with the session")
	return command
}

func (a *app) detachCommand() *cobra.Command {
	var s sessionCommand
	return s.make(a, &cobra.Command{
		Use:   "detach",
		Short: "Free a session from its turn, which ends as interrupted",
	}, func(ctx context.Context, conn *connection, at api.Address) error {
		done, err := conn.SessionDetach(ctx, api.SessionDetachArgs{Address: at})
		if err != nil {
			return err
		}
		if s.json {
			return a.printJSON(done)
		}
		_, err = fmt.Fprintln(a.stdout, done.Session.Status)
		return err
	})
}
