package host

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Access is the operations of a host as one caller may use them. Every method
// validates its arguments and answers with *sessions.Error, except for the
// error of a context that ends while it waits: that ends the wait, not the
// operation.
type Access struct {
	host   *Host
	caller api.Caller
}

// check validates and authorizes arguments.
func (a *Access) check(args api.Args) error {
	if err := args.Validate(a.host.config.Limits); err != nil {
		return err
	}
	return args.Authorize(a.caller)
}

// owner returns whose sessions an argument means.
func (a *Access) owner(named sessions.Owner) sessions.Owner {
	if named != "" {
		return named
	}
	return a.caller.Owner
}

func (a *Access) now() sessions.Time { return sessions.TimeOf(a.host.config.Now()) }

// find returns the session that an address names.
func (a *Access) find(ctx context.Context, at api.Address) (sessions.Session, error) {
	s, err := a.host.store.Session(ctx, a.owner(at.Owner), at.At())
	if err != nil {
		return s, err
	}
	return a.shown(s), nil
}

// shown fills in what only the host knows of a session.
func (a *Access) shown(s sessions.Session) sessions.Session {
	s.Resident = a.host.system.Resident(s.Fence.Incarnation)
	return s
}

// knownProfile returns UNKNOWN_PROFILE unless the host has the profile.
func (a *Access) knownProfile(name string) error {
	if _, ok := a.host.profiles[name]; !ok {
		return sessions.UnknownProfile(name)
	}
	return nil
}
