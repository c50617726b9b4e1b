package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"agenthost/host/server"
	"agenthost/tools/mcp/mcptest"
)

// childVariable makes this program serve instead of measuring, so that what a
// server uses is told apart from what the load uses: "floor", "host" or mcpChild.
const childVariable = "AGENTHOST_BENCH_CHILD"

// mcpChild is the child that is an MCP server.
const mcpChild = "mcp"

// childSettings are what a child is told, in its first line of input.
type childSettings struct {
	File    string
	Profile string // where to write a CPU profile, "" for none
}

// childReport is what a child says: once it serves, and for every further line.
type childReport struct {
	Address string
	CPU     time.Duration
	RSS     int64
}

// serveChild serves until its input ends.
func serveChild(side string, in io.Reader, out io.Writer) error {
	if side == mcpChild {
		if mcptest.Run(nil, in, out, io.Discard) != 0 {
			return errors.New("the MCP server has failed")
		}
		return nil
	}
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return lines.Err()
	}
	var s childSettings
	if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serve := serveHost
	if side == "floor" {
		serve = serveFloor
	}
	end, err := serve(ctx, s.File, listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	stop := func() error { return nil }
	if s.Profile != "" {
		if stop, err = startProfile(s.Profile); err != nil {
			return err
		}
	}
	for answer := json.NewEncoder(out); ; {
		u, err := ownUsage()
		if err != nil {
			return err
		}
		if err := answer.Encode(childReport{listener.Addr().String(), u.cpu, u.rss}); err != nil {
			return err
		}
		if !lines.Scan() {
			return errors.Join(lines.Err(), stop(), end())
		}
	}
}

// serveHost serves the whole host.
func serveHost(ctx context.Context, file string, listener net.Listener) (end func() error, err error) {
	h, _, err := openHost(ctx, file)
	if err != nil {
		return nil, err
	}
	serving, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.New(server.For(h), server.Config{}).Serve(serving, listener) }()
	return func() error {
		cancel()
		h.Stop()
		return <-served
	}, nil
}

// child is a server process, seen from the load.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	reports *json.Decoder
	first   childReport
}

// startChild starts a server process on a file.
func startChild(ctx context.Context, side string, s childSettings) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{command: exec.CommandContext(ctx, program)}
	c.command.Env = append(os.Environ(), childVariable+"="+side)
	c.command.Stderr = os.Stderr
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.reports = json.NewDecoder(out)
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	if err := json.NewEncoder(c.in).Encode(s); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	if err := c.reports.Decode(&c.first); err != nil {
		return nil, errors.Join(fmt.Errorf("the %s server does not start: %w", side, err), c.stop())
	}
	return c, nil
}

// usage asks the process what it has used.
func (c *child) usage() (usage, error) {
	if _, err := io.WriteString(c.in, "\n"); err != nil {
		return usage{}, err
	}
	var r childReport
	err := c.reports.Decode(&r)
	return usage{cpu: r.CPU, rss: r.RSS}, err
}

// stop ends the process and waits for it.
func (c *child) stop() error {
	return errors.Join(c.in.Close(), c.command.Wait())
}
