package server

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

const (
	// stallChunk is how much is written between two looks at the clock, so that a
	// large message over a slow line is not taken for one that does not move.
	stallChunk = 32 << 10
	// sendBuffer bounds what the kernel holds for one reader, in bytes. It wakes a
	// writer only when a good part of the buffer is free, and a buffer grown to
	// megabytes would make a slow reader look like one that takes nothing.
	sendBuffer = 128 << 10
)

// stallConn is a connection that fails a write when the peer takes nothing for
// a while.
type stallConn struct {
	net.Conn
	after time.Duration
}

// Write writes p, however long it takes as long as it moves.
func (c stallConn) Write(p []byte) (written int, err error) {
	for {
		if err := c.SetWriteDeadline(time.Now().Add(c.after)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[:min(len(p), stallChunk)])
		written += n
		p = p[n:]
		if err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// stallHijacker gives whoever takes over the connection a stallConn.
type stallHijacker struct {
	http.ResponseWriter
	after time.Duration
}

// Hijack implements http.Hijacker.
func (h stallHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if sized, ok := beneath(conn).(bufferedConn); ok {
		_ = sized.SetWriteBuffer(sendBuffer) // the kernel's default works too
	}
	stalling := stallConn{conn, h.after}
	rw.Writer.Reset(stalling)
	return stalling, rw, nil
}
