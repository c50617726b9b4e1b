package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

func (a *app) keysCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "keys", Short: "Make, list and revoke keys",
		Long: `Make, list and revoke the keys of a host, as its admin: with an admin's key, over
the host's Unix socket, or on its database while no host runs.

From the first key on, every request over TCP needs one, also when all of them are
revoked. A running host heeds a new key, and the end of one, at once.`,
	}
	chooses(command)
	command.AddCommand(a.keyCreateCommand(), a.keyListCommand(), a.keyRevokeCommand())
	return command
}

func (a *app) keyCreateCommand() *cobra.Command {
	var owner, role, name string
	var rate, burst int
	var json bool
	command := &cobra.Command{
		Use: "create", Short: "Make a key and print it, this once", Args: cobra.NoArgs,
		Long: `Make a key for an owner. The key itself goes to stdout, this once; the host keeps
only a hash of it. What is said about it goes to stderr.`,
	}
	command.RunE = a.does(func(ctx context.Context, _ []string) error {
		args := api.KeyCreateArgs{Owner: sessions.Owner(owner), Role: sessions.KeyRole(role), Name: name}
		if owner == "" {
			return usagef("name the owner of the key with --owner")
		}
		flags := command.Flags()
		if flags.Changed("rate") {
			args.PerSecond = &rate
		}
		if flags.Changed("burst") {
			args.Burst = &burst
		}
		return a.withHost(ctx, func(conn *connection) error {
			made, err := conn.KeyCreate(ctx, args)
			if err != nil {
				return err
			}
			if json {
				return a.printJSON(made)
			}
			a.complain("key %s for %s, of the role %s; it is not shown again", made.Key.ID, made.Key.Owner, made.Key.Role)
			_, err = fmt.Fprintln(a.stdout, made.Secret)
			return err
		})
	})
	flags := command.Flags()
	flags.StringVar(&owner, "owner", "", "whose sessions the key is for, a `name`")
	flags.StringVar(&role, "role", "", "`role` of the key: user or admin (default user)")
	flags.StringVar(&name, "name", "", "a `text` to know the key by")
	flags.IntVar(&rate, "rate", 0, "at most this `number` of requests a second (default no bound)")
	flags.IntVar(&burst, "burst", 0, "at most this `number` of requests at once (default that of --rate)")
	jsonFlag(command, &json)
	a.hostFlag(command)
	return command
}

func (a *app) keyListCommand() *cobra.Command {
	var json bool
	command := &cobra.Command{Use: "list", Short: "List all keys there ever were", Args: cobra.NoArgs}
	command.RunE = a.does(func(ctx context.Context, _ []string) error {
		return a.withHost(ctx, func(conn *connection) error {
			list, err := conn.KeyList(ctx)
			if err != nil {
				return err
			}
			if json {
				return printLines(a, list.Keys)
			}
			var t table
			t.add("ID", "ROLE", "STATE", "OWNER", "NAME")
			for _, k := range list.Keys {
				t.add(string(k.ID), string(k.Role), keyState(k), string(k.Owner), k.Name)
			}
			return t.write(a.stdout)
		})
	})
	jsonFlag(command, &json)
	a.hostFlag(command)
	return command
}

// keyState says what becomes of a key's requests, and when there was the last one.
func keyState(k api.KeyInfo) string {
	switch {
	case k.RevokedAt != 0:
		return "revoked"
	case k.LastUsedAt != 0:
		return "used " + ago(k.LastUsedAt)
	default:
		return "good"
	}
}

func (a *app) keyRevokeCommand() *cobra.Command {
	var json bool
	command := &cobra.Command{
		Use: "revoke ID", Short: "End a key", Args: cobra.ExactArgs(1),
		Long: "End a key, at once: its WebSockets and subscriptions end too. A key's id is shown\nby keys list.",
	}
	command.RunE = a.does(func(ctx context.Context, args []string) error {
		return a.withHost(ctx, func(conn *connection) error {
			done, err := conn.KeyRevoke(ctx, api.KeyRevokeArgs{KeyID: sessions.KeyID(args[0])})
			if err != nil {
				return err
			}
			if json {
				return a.printJSON(done.Key)
			}
			_, err = fmt.Fprintf(a.stdout, "revoked key %s of %s\n", done.Key.ID, done.Key.Owner)
			return err
		})
	})
	jsonFlag(command, &json)
	a.hostFlag(command)
	return command
}
