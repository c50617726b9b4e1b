package server

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"agenthost/host/api"
)

// queuedMessages is how many messages wait for the writer of a socket before
// those who have more must wait themselves.
const queuedMessages = 32

// socket is one WebSocket.
type socket struct {
	server *Server
	conn   *websocket.Conn
	caller api.Caller
	out    chan outgoing
	// writing says that a message is on its way; its own deadline watches then.
	writing atomic.Bool
	written chan struct{} // closed when the writer has ended
	drained chan struct{} // closed when draining and active is 0
	group   sync.WaitGroup

	mu       sync.Mutex
	inFlight map[string]struct{} // the ids of requests that have no reply yet
	subs     map[string]*subscription
	lastSub  int
	active   int  // goroutines that still have messages to queue
	draining bool // no new requests
}

// outgoing is what the writer does next: write data, or close.
type outgoing struct {
	data   []byte
	code   websocket.StatusCode // 0 for data
	reason string
}

// openSocket serves a WebSocket until it closes.
func (s *Server) openSocket(w http.ResponseWriter, r *http.Request, caller api.Caller) {
	if err := checkHandshake(r); err != nil {
		w.Header().Set("Upgrade", "websocket")
		s.refuse(w, nil, err)
		return
	}
	conn, err := websocket.Accept(stallHijacker{w, s.config.StallAfter}, r, &websocket.AcceptOptions{
		Subprotocols:       []string{api.Subprotocol},
		InsecureSkipVerify: true, // admit has checked the origin
	})
	if err != nil {
		s.log.DebugContext(r.Context(), "handshake failed", "cause", err)
		return
	}
	conn.SetReadLimit(-1) // read has its own, so that replies precede the close
	c := &socket{
		server: s, conn: conn, caller: caller,
		out:      make(chan outgoing, queuedMessages),
		written:  make(chan struct{}),
		drained:  make(chan struct{}),
		inFlight: map[string]struct{}{},
		subs:     map[string]*subscription{},
	}
	c.run(r.Context())
}

// run reads requests until the socket closes, and returns when every goroutine
// of it has ended.
func (c *socket) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	c.group.Go(func() { c.write(ctx, cancel) })
	c.group.Go(func() { c.keepAlive(ctx) })
	remove := c.server.addSocket(c)
	if c.read(ctx) {
		<-c.written // the writer is closing the socket in order
	}
	cancel()
	c.group.Wait()
	remove()
	_ = c.conn.CloseNow() // of what is closed already it says only that
}

// write carries out what is queued until ctx ends or the socket is closed.
func (c *socket) write(ctx context.Context, lost func()) {
	defer close(c.written)
	for {
		next, ok := c.next(ctx)
		if !ok {
			return
		}
		if next.code != 0 {
			_ = c.conn.Close(next.code, next.reason) // closed is closed, however the peer takes it
			return
		}
		c.writing.Store(true)
		err := c.conn.Write(ctx, websocket.MessageText, next.data)
		c.writing.Store(false)
		if err != nil {
			c.stalled()
			lost()
			return
		}
	}
}

// next waits for what to write next: what is queued, and once the socket has
// drained, its close. ok is false when ctx has ended.
func (c *socket) next(ctx context.Context) (next outgoing, ok bool) {
	select {
	case next = <-c.out:
		return next, true
	default:
	}
	select {
	case next = <-c.out:
		return next, true
	case <-c.drained:
	case <-ctx.Done():
		return outgoing{}, false
	}
	select { // drained: nothing is queued any more, yet something may be left
	case next = <-c.out:
		return next, true
	default:
		return outgoing{code: websocket.StatusGoingAway, reason: "The host is shutting down."}, true
	}
}

// keepAlive pings the peer until ctx ends, and closes the socket when the peer
// does not answer.
func (c *socket) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(c.server.config.PingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if c.writing.Load() {
			continue
		}
		wait, cancel := context.WithTimeout(ctx, c.server.config.StallAfter)
		err := c.conn.Ping(wait)
		expired := wait.Err() != nil
		cancel()
		if err != nil && (expired || !c.writing.Load()) {
			c.stalled()
			return
		}
	}
}

// stalled closes the socket of a peer that takes nothing. If a message got
// stuck half way, there is no room for the code, and the connection just ends.
func (c *socket) stalled() {
	_ = c.conn.Close(websocket.StatusTryAgainLater, "The connection took nothing for too long.")
}

// send queues a message. It waits while the queue is full, until ctx ends.
func (c *socket) send(ctx context.Context, message any) error {
	data, err := api.Encode(message)
	if err != nil {
		return err
	}
	return c.queue(ctx, outgoing{data: data})
}

func (c *socket) queue(ctx context.Context, next outgoing) error {
	select {
	case c.out <- next:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
