package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/cmd/agenthost/config"
	"agenthost/host/client"
	"agenthost/persistence/sqlite"
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
	address := reachable(c.Listen)
	if c.TLS.On() {
		address = schemeOf(c) + address
	}
	conn, err := a.dial(ctx, address)
	_, port, _ := net.SplitHostPort(c.Listen)
	switch {
	case err == nil:
		return conn, a.checkDatabase(ctx, conn, c)
	case port == "0" || client.NobodyListens(err):
		return a.embed(ctx, c)
	default:
		return nil, fmt.Errorf("%w; the address is %s, name another host with --host", err, address)
	}
}

// connectNamed connects to the host at an address that the user gave, which may
// be a socket as unix:path.
func (a *app) connectNamed(ctx context.Context, address string) (*connection, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		path = strings.TrimPrefix(path, "//")
		if path == "" {
			return nil, usagef("the address %s has no path; use one such as unix:/run/agenthost.sock", address)
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		address = "unix://" + full
	}
	conn, err := a.dial(ctx, address)
	if err != nil && !errors.Is(err, client.ErrUnreachable) && ctx.Err() == nil {
		return nil, usagef("%s", err)
	}
	return conn, err
}

func (a *app) dial(ctx context.Context, address string) (*connection, error) {
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, dialTimeout,
		fmt.Errorf("%w: nothing answered within %s", client.ErrUnreachable, dialTimeout))
	defer cancel()
	c, err := client.Dial(waiting, address, client.Config{Key: key})
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
	// Two databases in two folders may have one name.
	if wanted := "sqlite:" + filepath.Base(c.DatabasePath()); info.Store != wanted || info.PID != sqlite.Holder(c.DatabasePath()) {
		return errors.Join(sessions.Errorf(sessions.CodeConflict,
			"The host at %s has the database %s, and not %s; stop it, or leave --db out.", conn.Place, info.Store, c.DatabasePath()), conn.end())
	}
	return nil
}

// key returns the key that is sent to the host, "" for none. It is never printed.
func (a *app) key() (string, error) {
	if a.keyFile == "" {
		return a.getenv("AGENTHOST_KEY"), nil
	}
	text, err := os.ReadFile(a.keyFile)
	if err != nil {
		return "", usagef("--key-file %s cannot be read", a.keyFile)
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return "", usagef("--key-file %s is empty", a.keyFile)
	}
	return key, nil
}

// schemeOf is what the addresses of the host's TCP listener begin with.
func schemeOf(c *config.Config) string {
	if c.TLS.On() {
		return "https://"
	}
	return "http://"
}

// hostFlag adds the flags that name the host, and the key for it.
func (a *app) hostFlag(command *cobra.Command) {
	command.Flags().StringVar(&a.host, "host", "", "the host's `address`: http://…, https://…, name:port or unix:path (default AGENTHOST_URL, else a local one)")
	command.Flags().StringVar(&a.keyFile, "key-file", "", "`file` that holds the key for the host (default AGENTHOST_KEY)")
}
