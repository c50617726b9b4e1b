package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

func (a *app) cancelCommand() *cobra.Command {
	var s sessionCommand
	var requestID string
	var aside bool
	command := s.make(a, &cobra.Command{Use: "cancel", Short: "Cancel the turn that a session runs, or withdraw a prompt"},
		func(ctx context.Context, conn *connection, at api.Address) error {
			if aside && requestID != "" {
				return usagef("--request-id and --side-question mean different things; give one of them")
			}
			done, err := conn.Cancel(ctx, api.CancelArgs{Address: at, RequestID: sessions.RequestID(requestID), SideQuestion: aside})
			if err != nil {
				return err
			}
			if s.json {
				return a.printJSON(done)
			}
			text := "cancelled"
			if !done.Cancelled {
				text = "nothing to cancel"
			}
			_, err = fmt.Fprintln(a.stdout, text)
			return err
		})
	command.Flags().StringVar(&requestID, "request-id", "", "only the turn, or the waiting prompt, of this request `id`")
	command.Flags().BoolVar(&aside, "side-question", false, "only the session's side question")
	return command
}
