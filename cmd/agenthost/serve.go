package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"agenthost/cmd/agenthost/config"
)

// serveFlags are the flags of serve besides the shared ones.
type serveFlags struct{ listen, unix string }

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the host",
		Long: `Run the host until SIGINT or SIGTERM, which let running turns go on for stopGrace;
a second signal ends it at once.

One host at a time may have a database. Once there are keys (agenthost keys) every
request needs one; until then the host listens on this machine only.`,
		Args: cobra.NoArgs,
		RunE: a.does(func(ctx context.Context, _ []string) error { return a.serve(ctx, f) }),
	}
	command.Flags().StringVar(&f.listen, "listen", "", "where to listen, `host:port`; port 0 takes a free one (default 127.0.0.1:7777)")
	command.Flags().StringVar(&f.unix, "unix", "", "`path` of a Unix socket to listen on too")
	return command
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	c, err := a.settings(
		config.Flag{Name: "--listen", Key: "listen", Value: f.listen},
		config.Flag{Name: "--unix", Key: "unix", Value: f.unix},
	)
	if err != nil {
		return err
	}
	address, err := resolve(c.Listen)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.DatabasePath()); errors.Is(err, fs.ErrNotExist) {
		// No database is made for a host that will not run.
		if err := checkReach(c.Listen, address, false); err != nil {
			return err
		}
	}
	h, err := startHost(ctx, c, a.logger(), func(demandsKeys bool) error { return checkReach(c.Listen, address, demandsKeys) })
	if err != nil {
		return err
	}
	listeners, err := listen(address, c.Unix)
	if err != nil {
		h.Stop()
		return err
	}
	if err := a.greet(ctx, h, c, listeners); err != nil {
		h.Stop()
		return errors.Join(err, closeAll(listeners))
	}
	return h.serve(ctx, listeners, func() { a.sayStopping(h, c) })
}

// sayStopping tells what a stop waits for, if it does.
func (a *app) sayStopping(h *runningHost, c *config.Config) {
	if _, busy := h.System().Counts(); busy > 0 {
		a.complain("agenthost: stopping; %s may go on for %s, a second signal ends the host at once", counted(busy, "turn"), c.StopGrace)
	}
}

// serve opens the doors on all listeners until ctx ends or one of them fails,
// then calls stopping and stops the host.
func (h *runningHost) serve(ctx context.Context, listeners []net.Listener, stopping func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var serving sync.WaitGroup
	failed := make([]error, len(listeners))
	for i, listener := range listeners {
		serving.Go(func() {
			defer cancel()
			failed[i] = h.doors.Serve(ctx, listener)
		})
	}
	<-ctx.Done()
	stopping()
	// The doors wait for requests whose turns and subscriptions the host ends, so
	// that both stop together.
	h.Stop()
	serving.Wait()
	if err := errors.Join(failed...); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
