package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// usageFlags are what is asked for.
type usageFlags struct {
	at addressFlags
	by string
}

func (a *app) usageCommand() *cobra.Command {
	var f usageFlags
	var json bool
	command := &cobra.Command{
		Use: "usage [ID]", Short: "Sum up what model calls consumed", Args: cobra.MaximumNArgs(1),
		Long: `Sum up what model calls consumed: those of a session, and with --by tree those of
its sub-sessions on the same host too. Without a session: those of all sessions
there are or ever were, and the last days one by one.`,
	}
	command.RunE = a.does(func(ctx context.Context, args []string) error {
		asked, err := f.args(args)
		if err != nil {
			return err
		}
		return a.withHost(ctx, func(conn *connection) error {
			got, err := conn.Usage(ctx, asked)
			if err != nil {
				return err
			}
			if json {
				return a.printJSON(got.Usage)
			}
			return a.printUsage(got.Usage)
		})
	})
	f.at.add(command)
	command.Flags().StringVar(&f.by, "by", "", "`scope` of the sums: session, tree or owner (default session, owner without one)")
	jsonFlag(command, &json)
	a.hostFlag(command)
	return command
}

// args returns what is asked for. Without a session that is the owner's usage.
func (f *usageFlags) args(args []string) (api.UsageArgs, error) {
	asked := api.UsageArgs{By: sessions.UsageScope(f.by)}
	isNamed := len(args) > 0 || !f.at.isZero()
	scopes := []sessions.UsageScope{"", sessions.UsageBySession, sessions.UsageByTree, sessions.UsageByOwner}
	switch {
	case !slices.Contains(scopes, asked.By):
		return asked, usagef("--by is session, tree or owner, not %q", f.by)
	case !isNamed && f.by == "":
		asked.By = sessions.UsageByOwner
	case isNamed && asked.By == sessions.UsageByOwner:
		return asked, usagef("--by owner is about all sessions; name none")
	}
	if asked.By == sessions.UsageByOwner {
		return asked, nil
	}
	at, err := f.at.address(args)
	asked.Address = at
	return asked, err
}

func (a *app) printUsage(u sessions.UsageReport) error {
	var sums table
	sums.add("turns", usageText(u.Usage))
	if u.SideQuestions != (sessions.Usage{}) {
		sums.add("side questions", usageText(u.SideQuestions))
	}
	for _, kind := range slices.Sorted(maps.Keys(u.Kinds)) {
		sums.add(string(kind), usageText(u.Kinds[kind]))
	}
	if err := sums.write(a.stdout); err != nil || len(u.Days) == 0 {
		return err
	}
	var days table
	days.add("DAY", "IN", "CACHED", "OUT", "CALLS", "FOR", "MODEL")
	for _, d := range u.Days {
		days.add(d.Day, fmt.Sprint(d.InputTokens), fmt.Sprint(d.CachedTokens), fmt.Sprint(d.OutputTokens), fmt.Sprint(d.Calls),
			cmp.Or(string(d.Kind), "turns"), d.Model)
	}
	return days.write(a.stdout)
}
