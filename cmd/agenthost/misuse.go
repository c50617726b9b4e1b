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
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			return usagef("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
		}
		return usagef("unknown command %q; there are %s", args[0], strings.Join(below(c), ", "))
	}
	command.RunE = func(c *cobra.Command, _ []string) error {
		return usagef("name a command: %s", strings.Join(below(c), ", "))
	}
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

// flagError says what value a flag takes, when it was given another one.
func flagError(_ *cobra.Command, err error) error {
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
