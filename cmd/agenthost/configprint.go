package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "config",
		Short: "Print the configuration in effect, with the source of each value",
		Args:  cobra.NoArgs,
		RunE: a.does(func(context.Context, []string) error {
			c, err := a.settings()
			if err != nil {
				return err
			}
			return c.Print(a.stdout, asJSON)
		}),
	}
	jsonFlag(command, &asJSON)
	return command
}
