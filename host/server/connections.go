package server

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections is a listener that bounds how many of its connections are open. When
// there is no room for a new one, that which has waited the longest for a request
// makes room. When all are at work the new one is closed.
type connections struct {
	net.Listener
	limit int

	mu   sync.Mutex
	open int
	idle *list.List // of *connection, the one that waits the longest first
}

// connection is one that is counted until it is closed.
type connection struct {
	net.Conn
	of    *connections
	place *list.Element // in idle, nil while it is at work
	gone  bool          // is counted no more
}

func newConnections(l net.Listener, limit int) *connections {
	return &connections{Listener: l, limit: limit, idle: list.New()}
}

// Accept waits for the next connection that there is room for.
func (l *connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if counted := l.enter(conn); counted != nil {
			return counted, nil
		}
		_ = conn.Close() // nobody has heard of it
	}
}

// enter counts a connection; nil when there is no room.
func (l *connections) enter(conn net.Conn) *connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.limit {
		longest := l.idle.Front()
		if longest == nil {
			return nil
		}
		victim := longest.Value.(*connection)
		l.leave(victim)
		_ = victim.Conn.Close() // who serves it reads the end, and closes it again
	}
	if sized, ok := conn.(bufferedConn); ok {
		_ = sized.SetWriteBuffer(sendBuffer) // the kernel's default works too
	}
	c := &connection{Conn: conn, of: l}
	c.place = l.idle.PushBack(c)
	l.open++
	return c
}

// leave counts a connection no more. mu is held.
func (l *connections) leave(c *connection) {
	if c.gone {
		return
	}
	c.gone = true
	l.open--
	l.work(c)
}

// work takes a connection out of those that wait. mu is held.
func (l *connections) work(c *connection) {
	if c.place != nil {
		l.idle.Remove(c.place)
		c.place = nil
	}
}

// follow hears of the states of connections from their http.Server.
func (l *connections) follow(conn net.Conn, state http.ConnState) {
	c, ok := beneath(conn).(*connection)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateActive, http.StateHijacked:
		l.work(c)
	case http.StateIdle:
		if !c.gone && c.place == nil {
			c.place = l.idle.PushBack(c)
		}
	}
}

// Close closes the connection and makes room.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.leave(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// SetWriteBuffer passes the size on to a connection that has such a buffer.
func (c *connection) SetWriteBuffer(bytes int) error {
	if sized, ok := c.Conn.(bufferedConn); ok {
		return sized.SetWriteBuffer(bytes)
	}
	return nil
}

// bufferedConn is a connection of the kernel's.
type bufferedConn interface{ SetWriteBuffer(bytes int) error }

// beneath returns the connection that a secured one goes over, or conn itself.
func beneath(conn net.Conn) net.Conn {
	if secured, ok := conn.(*tls.Conn); ok {
		return secured.NetConn()
	}
	return conn
}
