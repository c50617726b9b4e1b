package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// connection is one client's keep-alive connection. It writes requests by hand,
// so that the load takes as little of the machine as it can.
type connection struct {
	conn net.Conn
	in   *bufio.Reader
	host string
}

func dialAll(ctx context.Context, address string, count int) ([]*connection, error) {
	all := make([]*connection, count)
	for i := range all {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, errors.Join(err, closeAll(all[:i]))
		}
		all[i] = &connection{conn, bufio.NewReader(conn), address}
	}
	return all, nil
}

func closeAll(all []*connection) error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.conn.Close())
	}
	return errors.Join(errs...)
}

// send writes a prompt.
func (c *connection) send(worker, n int, accept string) error {
	body := fmt.Sprintf(`{"id":"%d","op":"$prompt","args":{"targetKey":%q,"text":%q,"requestId":%q}}`,
		n, sessionKey(worker), promptText, requestID(worker, n))
	_, err := fmt.Fprintf(c.conn, "POST /v1/call HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		c.host, accept, len(body), body)
	return err
}

// call makes one turn and checks that it is one.
func (c *connection) call(worker, n int) error {
	if err := c.send(worker, n, "application/json"); err != nil {
		return err
	}
	body, err := c.receive()
	if err != nil {
		return err
	}
	var reply struct{ OK bool }
	if err := json.Unmarshal(body, &reply); err != nil || !reply.OK {
		return fmt.Errorf("the reply is no success: %s", body)
	}
	return nil
}

func (c *connection) receive() ([]byte, error) {
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// firstEvent makes one turn with its frames and returns when the first had come.
func (c *connection) firstEvent(worker, n int) (time.Duration, error) {
	start := time.Now()
	if err := c.send(worker, n, "text/event-stream"); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %s", response.Status)
	}
	one := make([]byte, 1)
	if _, err := io.ReadFull(response.Body, one); err != nil {
		return 0, err
	}
	took := time.Since(start)
	_, err = io.Copy(io.Discard, response.Body)
	return took, err
}
