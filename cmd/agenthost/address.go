package main

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"agenthost/host/api"
	"agenthost/sessions"
)

// addressFlags are the flags that name a session.
type addressFlags struct{ session, target, profile string }

func (f *addressFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.session, "session", "", "`id` of the session")
	flags.StringVar(&f.target, "target", "", "target `key` of the session")
	flags.StringVar(&f.profile, "profile", "", "profile `key` (default \"default\")")
}

// isZero reports whether no session is named.
func (f *addressFlags) isZero() bool { return f.session == "" && f.target == "" }

// given returns the flags as they are.
func (f *addressFlags) given() api.Address {
	return api.Address{SessionID: sessions.SessionID(f.session), TargetKey: f.target, ProfileKey: f.profile}
}

// address returns the session that is named by the flags, or by its id as the
// only argument.
func (f *addressFlags) address(args []string) (api.Address, error) {
	at := f.given()
	if len(args) > 0 {
		if !f.isZero() {
			return at, usagef("name the session once: by its id, --session or --target")
		}
		at.SessionID = sessions.SessionID(args[0])
	}
	switch {
	case at.IsZero() || at.SessionID == "" && at.TargetKey == "":
		return at, usagef("name a session: by its id, --session, or --target with or without --profile")
	case at.SessionID != "" && at.TargetKey != "":
		return at, usagef("name the session by its id or by --target, not both")
	case at.SessionID != "" && at.ProfileKey != "":
		return at, usagef("--profile goes with --target; a session's id says its profile")
	}
	return at, nil
}

// addressOrNew returns the session that the flags name, or a new one's, whose id
// it tells on stderr.
func (a *app) addressOrNew(ctx context.Context, conn *connection, f *addressFlags) (api.Address, error) {
	if !f.isZero() {
		return f.address(nil)
	}
	made, err := conn.SessionCreate(ctx, api.SessionCreateArgs{Address: newAddress(f.profile)})
	if err != nil {
		return api.Address{}, err
	}
	a.complain("session %s", made.Session.ID)
	return api.Address{SessionID: made.Session.ID}, nil
}

// newAddress is that of a session to be made without a key.
func newAddress(profile string) api.Address {
	return api.Address{SessionID: sessions.SessionID(uuid.Must(uuid.NewV7()).String()), ProfileKey: profile}
}
