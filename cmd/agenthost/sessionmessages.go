package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// pageFlags are the flags of a range of a session's history.
type pageFlags struct {
	limit    int
	backward bool
}

func (f *pageFlags) add(command *cobra.Command) {
	command.Flags().IntVar(&f.limit, "limit", api.DefaultHistoryLimit, "at most this `number` of them")
	command.Flags().BoolVar(&f.backward, "newest-first", false, "from the end")
}

func (f *pageFlags) order() api.Order {
	if f.backward {
		return api.Descending
	}
	return api.Ascending
}

func (a *app) messagesCommand() *cobra.Command {
	var s sessionCommand
	var page pageFlags
	var after, before int64
	command := s.make(a, &cobra.Command{Use: "messages", Short: "Print the messages of a session"},
		func(ctx context.Context, conn *connection, at api.Address) error {
			args := api.MessagesArgs{Address: at, Order: page.order(), Limit: &page.limit, AfterSeq: &after}
			if before != 0 {
				args.BeforeSeq = &before
			}
			got, err := conn.Messages(ctx, args)
			if err != nil {
				return err
			}
			if err := a.printMessages(got.Messages, s.json); err != nil {
				return err
			}
			if got.HasMore {
				a.complain("there are more: --%s %d", page.further(), got.Messages[len(got.Messages)-1].Seq)
			}
			return nil
		})
	command.Flags().Int64Var(&after, "after", 0, "only messages after this `number`")
	command.Flags().Int64Var(&before, "before", 0, "only messages before this `number`")
	page.add(command)
	return command
}

// further is the flag that goes on where a page ended.
func (f *pageFlags) further() string {
	if f.backward {
		return "before"
	}
	return "after"
}

func (a *app) printMessages(list []sessions.Message, asJSON bool) error {
	if asJSON {
		return printLines(a, list)
	}
	for _, m := range list {
		head := fmt.Sprintf("#%d %s, %s", m.Seq, m.Role, m.CreatedAt)
		if _, err := fmt.Fprintf(a.stdout, "%s\n%s\n", a.dim(a.stdout, head), printable(messageText(m))); err != nil {
			return err
		}
	}
	return nil
}

// messageText is a message as people read it.
func messageText(m sessions.Message) string {
	var lines []string
	for _, part := range m.Content {
		lines = append(lines, partText(part))
	}
	for _, call := range m.ToolCalls {
		lines = append(lines, "→ "+call.Path+" "+string(call.Args))
	}
	if m.Error != nil {
		lines = append(lines, string(m.Error.Code)+": "+m.Error.Message)
	}
	if m.Interrupted {
		lines = append(lines, "(interrupted)")
	}
	return strings.Join(lines, "\n")
}

func partText(part sessions.Content) string {
	switch part.Type {
	case sessions.ContentText:
		return part.Text
	case sessions.ContentJSON:
		return string(part.Value)
	default:
		return "(" + cmp.Or(part.MediaType, string(part.Type)) + " " + part.URL + ")"
	}
}
