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

func (a *app) showCommand() *cobra.Command {
	var s sessionCommand
	return s.make(a, &cobra.Command{Use: "show", Short: "Show one session"},
		func(ctx context.Context, conn *connection, at api.Address) error {
			got, err := conn.SessionGet(ctx, api.SessionGetArgs{Address: at})
			if err != nil {
				return err
			}
			if s.json {
				return a.printJSON(got.Session)
			}
			return a.printSession(got.Session)
		})
}

func (a *app) printSession(s sessions.Session) error {
	var t table
	add := func(name, value string) {
		if value != "" {
			t.add(name, value)
		}
	}
	add("session", string(s.ID))
	add("status", string(s.Status))
	add("target", s.TargetKey)
	add("profile", s.ProfileKey)
	add("agent", string(s.AgentID))
	add("title", s.Title)
	add("labels", labelText(s.Labels))
	add("parent", string(s.ParentID))
	add("forked from", string(s.ForkedFrom))
	add("begins", s.Preview)
	add("messages", fmt.Sprintf("%d, in %s; %d queued", s.MessageCount, counted(s.TurnCount, "turn"), s.Queued))
	add("created", s.CreatedAt.String())
	add("active", s.LastActiveAt.String())
	if s.ClosedAt != 0 {
		add("closed", strings.TrimSuffix(s.ClosedAt.String()+", "+s.ClosedReason, ", "))
	}
	if s.ActiveTurn != nil {
		add("turn", fmt.Sprintf("%s, %s since %s", s.ActiveTurn.TurnID, s.ActiveTurn.Status, s.ActiveTurn.StartedAt))
	}
	add("tokens", usageText(s.Usage))
	if s.LastError != nil {
		add("error", string(s.LastError.Code)+": "+s.LastError.Message)
	}
	if err := t.write(a.stdout); err != nil {
		return err
	}
	for _, p := range s.Pending { // whole: nobody should approve what he cannot read
		waits := fmt.Sprintf("waits        %s, call %s of %s with %s", p.Kind, p.CallID, p.Path, p.Args)
		if _, err := fmt.Fprintln(a.stdout, printable(waits)); err != nil {
			return err
		}
	}
	return nil
}

func usageText(u sessions.Usage) string {
	return fmt.Sprintf("%d in (%d cached), %d out, in %s",
		u.InputTokens, u.CachedTokens, u.OutputTokens, counted(u.Calls, "model call"))
}

func labelText(labels map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, name+"="+labels[name])
	}
	return strings.Join(list, ", ")
}
