package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

func (a *app) childrenCommand() *cobra.Command {
	var s sessionCommand
	return s.make(a, &cobra.Command{Use: "children", Short: "List the sub-sessions of a session, oldest first"},
		func(ctx context.Context, conn *connection, at api.Address) error {
			got, err := conn.Children(ctx, api.ChildrenArgs{Address: at})
			if err != nil {
				return err
			}
			if s.json {
				return printLines(a, got.Refs)
			}
			return a.printRefs(got.Refs)
		})
}

func (a *app) printRefs(refs []sessions.Ref) error {
	var t table
	t.add("ID", "STATUS", "MADE", "PROFILE", "NAME", "WHERE")
	for _, r := range refs {
		t.add(string(r.SessionID), string(r.Status), ago(r.CreatedAt), r.ProfileKey, r.Name, cmp.Or(r.Host, string(r.Location)))
	}
	return t.write(a.stdout)
}
