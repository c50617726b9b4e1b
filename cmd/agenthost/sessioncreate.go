package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// createFlags are the flags of sessions create.
type createFlags struct {
	at               addressFlags
	title, requestID string
	labels           map[string]string
	json             bool
}

func (a *app) createCommand() *cobra.Command {
	var f createFlags
	command := &cobra.Command{
		Use:   "create",
		Short: "Make a session, or find the one there is, and print its id",
		Args:  cobra.NoArgs,
		RunE:  a.does(func(ctx context.Context, _ []string) error { return a.create(ctx, &f) }),
	}
	f.at.add(command)
	flags := command.Flags()
	flags.StringVar(&f.title, "title", "", "`title` of a new session")
	flags.StringToStringVar(&f.labels, "label", nil, "label of a new session, `name=value`; may be repeated")
	flags.StringVar(&f.requestID, "request-id", "", "`id` that makes the command safe to repeat")
	jsonFlag(command, &f.json)
	a.hostFlag(command)
	return command
}

func (a *app) create(ctx context.Context, f *createFlags) error {
	args := api.SessionCreateArgs{Address: f.at.given(), Title: f.title, Labels: f.labels, RequestID: sessions.RequestID(f.requestID)}
	if f.at.isZero() {
		if f.requestID != "" {
			return usagef("--request-id needs --session or --target, which a repetition must name again")
		}
		args.Address = newAddress(f.at.profile)
	}
	return a.withHost(ctx, func(conn *connection) error {
		made, err := conn.SessionCreate(ctx, args)
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(made)
		}
		if !made.Created {
			a.complain("the session was there already")
		}
		_, err = fmt.Fprintln(a.stdout, made.Session.ID)
		return err
	})
}
