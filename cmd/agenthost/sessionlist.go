package main

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// listFlags are the flags of sessions list.
type listFlags struct {
	target, profile, parent, cursor string
	statuses                        []string
	labels                          map[string]string
	limit                           int
	roots, all, json                bool
}

func (a *app) listCommand() *cobra.Command {
	var f listFlags
	command := &cobra.Command{
		Use:   "list",
		Short: "List sessions, newest activity first",
		Long: `List sessions, newest activity first. All filters that are given must match.
When there are more, stderr says how to go on.`,
		Args: cobra.NoArgs,
		RunE: a.does(func(ctx context.Context, _ []string) error {
			if f.roots && f.parent != "" {
				return usagef("--roots and --parent contradict each other")
			}
			return a.withHost(ctx, func(conn *connection) error { return a.list(ctx, conn, &f) })
		}),
	}
	flags := command.Flags()
	flags.StringVar(&f.target, "target", "", "only those of a target `key`")
	flags.StringVar(&f.profile, "profile", "", "only those of a profile `key`")
	flags.StringSliceVar(&f.statuses, "status", nil, "only those in a `status`: created, running, waiting, idle, failed or closed; may be repeated")
	flags.StringToStringVar(&f.labels, "label", nil, "only those with a label `name=value`; may be repeated")
	flags.StringVar(&f.parent, "parent", "", "only the children of a session `id`")
	flags.BoolVar(&f.roots, "roots", false, "only those without a parent")
	flags.IntVar(&f.limit, "limit", api.DefaultPageLimit, "at most this `number` of them")
	flags.StringVar(&f.cursor, "cursor", "", "go on after this `cursor`, with the same filters")
	flags.BoolVar(&f.all, "all", false, "list them all")
	jsonFlag(command, &f.json)
	a.hostFlag(command)
	return command
}

func (f *listFlags) args() api.SessionListArgs {
	args := api.SessionListArgs{
		TargetKey: f.target, ProfileKey: f.profile, Label: f.labels, Limit: &f.limit, Cursor: f.cursor,
	}
	for _, status := range f.statuses {
		args.Status = append(args.Status, sessions.Status(status))
	}
	switch {
	case f.roots:
		args.ParentID = api.Null[sessions.SessionID]()
	case f.parent != "":
		args.ParentID = api.Of(sessions.SessionID(f.parent))
	}
	return args
}

func (a *app) list(ctx context.Context, conn *connection, f *listFlags) error {
	args := f.args()
	if f.all {
		args.Limit = new(api.MaxPageLimit)
	}
	for first := true; ; first = false {
		page, err := conn.SessionList(ctx, args)
		if err != nil {
			return err
		}
		if err := a.printSessions(page.Sessions, f.json, first); err != nil {
			return err
		}
		if page.NextCursor == "" {
			return nil
		}
		if !f.all {
			a.complain("there are more: --cursor %s", page.NextCursor)
			return nil
		}
		args.Cursor = page.NextCursor
	}
}

func (a *app) printSessions(list []sessions.Session, asJSON, head bool) error {
	if asJSON {
		return printLines(a, list)
	}
	var t table
	if head {
		t.add("ID", "STATUS", "ACTIVE", "MSGS", "ABOUT")
	}
	for _, s := range list {
		t.add(string(s.ID), string(s.Status), ago(s.LastActiveAt), strconv.FormatInt(s.MessageCount, 10),
			cmp.Or(s.Title, s.TargetKey, s.Preview))
	}
	return t.write(a.stdout)
}
