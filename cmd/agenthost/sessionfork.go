package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// forkFlags are the flags of sessions fork.
type forkFlags struct {
	sessionCommand
	through                      int64
	newSession, newTarget, asked string
}

func (a *app) forkCommand() *cobra.Command {
	var f forkFlags
	command := f.make(a, &cobra.Command{
		Use:   "fork",
		Short: "Copy a conversation into a new session, and print its id",
		Long: `Copy the messages of a session, up to one of them or all, into a new session of
the same profile, and print its id. State is copied with the last message only.`,
	}, func(ctx context.Context, conn *connection, at api.Address) error {
		made, err := conn.SessionFork(ctx, f.args(at))
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(made)
		}
		a.complain("copied %s", counted(made.Session.MessageCount, "message"))
		_, err = fmt.Fprintln(a.stdout, made.Session.ID)
		return err
	})
	flags := command.Flags()
	flags.Int64Var(&f.through, "through-seq", 0, "the `number` of the last message to copy (default all)")
	flags.StringVar(&f.newSession, "new-session", "", "`id` of the new session (default one that the host makes)")
	flags.StringVar(&f.newTarget, "new-target", "", "target `key` of the new session (default none)")
	flags.StringVar(&f.asked, "request-id", "", "`id` that makes the command safe to repeat")
	return command
}

func (f *forkFlags) args(at api.Address) api.SessionForkArgs {
	args := api.SessionForkArgs{
		Address: at, NewSessionID: sessions.SessionID(f.newSession), NewTargetKey: f.newTarget, RequestID: sessions.RequestID(f.asked),
	}
	if f.through != 0 {
		args.ThroughSeq = &f.through
	}
	return args
}
