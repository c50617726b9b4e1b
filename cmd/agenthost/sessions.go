package main

import (
	"context"

	"github.com/spf13/cobra"

	"agenthost/host/api"
)

func (a *app) sessionsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "sessions",
		Short: "Work with sessions",
	}
	chooses(command)
	command.AddCommand(
		a.listCommand(), a.showCommand(), a.messagesCommand(), a.framesCommand(),
		a.createCommand(), a.deleteCommand(), a.clearCommand(), a.seedCommand(),
		a.closeCommand(), a.detachCommand(), a.forkCommand(), a.childrenCommand(),
	)
	return command
}

// sessionCommand is a command about the one session that its flags or its
// argument name.
type sessionCommand struct {
	at   addressFlags
	json bool
}

// make fills in what such commands share.
func (s *sessionCommand) make(a *app, command *cobra.Command, act func(context.Context, *connection, api.Address) error) *cobra.Command {
	command.Use += " [ID]"
	command.Args = cobra.MaximumNArgs(1)
	command.RunE = a.does(func(ctx context.Context, args []string) error {
		at, err := s.at.address(args)
		if err != nil {
			return err
		}
		return a.withHost(ctx, func(conn *connection) error { return act(ctx, conn, at) })
	})
	s.at.add(command)
	jsonFlag(command, &s.json)
	a.hostFlag(command)
	return command
}
