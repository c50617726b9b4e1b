package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/cmd/agenthost/config"
	"agenthost/host/client"
	"agenthost/sessions"
)

// dialTimeout is how long a host may take to answer at first.
const dialTimeout = 5 * time.Second

// connection is a way to a host: somewhere else, or in this process.
type connection struct {
	*client.Client
	// Place says where the host is, for people.
	Place string
	stop  func() error // nil for a host somewhere else
}

// end gives the connection up, and stops a host in this process.
func (c *connection) end() error {
	c.Close()
	if c.stop == nil {
		return nil
	}
	return c.stop()
}

// withHost runs do with a connection to the host that the command is for.
func (a *app) withHost(ctx context.Context, do func(*connection) error) (err error) {
	conn, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.end()) }()
	return do(conn)
}

// connect finds the host: the one that is named, else the one that listens where
// the configuration says, else one that it starts in this process.
func (a *app) connect(ctx context.Context) (*connection, error) {
	named := a.host
	if named == "" {
		named = a.getenv("AGENTHOST_URL")
	}
	if named != "" {
		return a.connectNamed(ctx, named)
	}
	c, err := a.settings()
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, c.Listen)
	_, port, _ := net.SplitHostPort(c.Listen)
	switch {
	case err == nil:
		return conn, a.checkDatabase(ctx, conn, c)
	case port == "0" || client.NobodyListens(err):
		return a.embed(ctx, c)
	default:
		return nil, fmt.Errorf("%w; the address is %s, name another host with --host", err, c.Listen)
	}
}

// connectNamed connects to the host at an address that the user gave, which may
// be a socket as unix:path.
func (a *app) connectNamed(ctx context.Context, address string) (*connection, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		full, err := filepath.Abs(strings.TrimPrefix(path, "//"))
		if err != nil {
			return nil, err
		}
		address = "unix://" + full
	}
	conn, err := dial(ctx, address)
	if err != nil && !errors.Is(err, client.ErrUnreachable) && ctx.Err() == nil {
		return nil, usagef("%s", err)
	}
	return conn, err
}

func dial(ctx context.Context, address string) (*connection, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, dialTimeout,
		fmt.Errorf("%w: nothing answered within %s", client.ErrUnreachable, dialTimeout))
	defer cancel()
	c, err := client.Dial(waiting, address, client.Config{})
	if err != nil {
		return nil, err
	}
	return &connection{Client: c, Place: address}, nil
}

// checkDatabase refuses a host that was not named and has another database than
// the one that was: a command must not do its work on the wrong one.
func (a *app) checkDatabase(ctx context.Context, conn *connection, c *config.Config) error {
	if a.db == "" {
		return nil
	}
	info, err := conn.HostInfo(ctx)
	if err != nil {
		return errors.Join(err, conn.end())
	}
	if wanted := "sqlite:" + filepath.Base(c.DatabasePath()); info.Store != wanted {
		return errors.Join(sessions.Errorf(sessions.CodeConflict,
			"The host at %s has the database %s, not %s; stop it, or leave --db out.", conn.Place, info.Store, wanted), conn.end())
	}
	return nil
}

// hostFlag adds the flag that names the host.
func (a *app) hostFlag(command *cobra.Command) {
	command.Flags().StringVar(&a.host, "host", "", "the host's `address`: http://…, https://… or unix:path (default AGENTHOST_URL, else a local one)")
}
