package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"agenthost/cmd/agenthost/config"
	"agenthost/host/client"
)

// embed starts a host in this process, for as long as the command runs. The
// command speaks to it as to any other, over connections in memory.
func (a *app) embed(ctx context.Context, c *config.Config) (*connection, error) {
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	h, err := startHost(ctx, c, a.logger(), func(bool) error { return nil })
	if err != nil {
		return nil, err
	}
	a.complain("agenthost: no host listens on %s; using %s in this process", c.Listen, c.DatabasePath())
	wire := newMemoryListener()
	// The host lives until end, not until ctx ends: what was interrupted is still
	// to be told to it.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- h.serve(serving, []net.Listener{wire}, func() {}) }()
	transport := &http.Transport{DialContext: wire.dial}
	end := func() error {
		transport.CloseIdleConnections()
		stop()
		return <-served
	}
	dialed, err := client.Dial(ctx, "http://localhost", client.Config{Key: key, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &connection{Client: dialed, Place: c.DatabasePath(), stop: end}, nil
}

// memoryListener is a listener whose connections stay in the process.
type memoryListener struct {
	accepts chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{accepts: make(chan net.Conn), closed: make(chan struct{})}
}

// dial connects to the listener, whatever the address.
func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.accepts <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept waits for the next connection.
func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepts:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. Connections that were accepted stay.
func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr names the listener.
func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }
