package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// chooses makes a command one that only has others below it.
func chooses(command *cobra.Command) {
	command.SuggestionsMinimumDistance = 2
	command.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(c, args[0])
	}
	command.RunE = func(c *cobra.Command, _ []string) error {
		return usagef("name a command: %s", strings.Join(below(c), ", "))
	}
}

func unknownCommand(c *cobra.Command, name string) error {
	if near := c.SuggestionsFor(name); len(near) > 0 {
		return usagef("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usagef("unknown command %q; there are %s", name, strings.Join(below(c), ", "))
}

// below names the commands below a command.
func below(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// flagError says what value a flag takes, when it was given another one. The
// flags of a command that there is not are not what is wrong.
func flagError(c *cobra.Command, err error) error {
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		return unknownCommand(c, args[0])
	}
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag := wrong.GetFlag()
	takes := "something else"
	switch kind := flag.Value.Type(); kind {
	case "int", "int64":
		takes = "a whole number"
	case "duration":
		takes = "a time such as 10s or 5m"
	case "bool":
		takes = "true or false"
	}
	return usagef("--%s is %q, but must be %s", flag.Name, wrong.GetValue(), takes)
}
