package rawhttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long a connection may take for all that is done with it.
const Patience = 30 * time.Second

// Conn is a connection to a server. It belongs to one goroutine.
type Conn struct {
	net.Conn
	in *bufio.Reader
}

// Answer is one answer of a server, read to its end.
type Answer struct {
	Status int // 0 when the connection ended before the answer did
	Header http.Header
	Body   string
}

// Dial opens a connection to an address, writes text to it as it stands, and closes
// it with the test.
func Dial(t testing.TB, address, text string) *Conn {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: Patience}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(Patience)))
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return Over(conn)
}

// Over speaks over a connection that is there.
func Over(conn net.Conn) *Conn { return &Conn{conn, bufio.NewReader(conn)} }

// Answer reads the next answer.
func (c *Conn) Answer() Answer {
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return Answer{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}
	}
	return Answer{response.StatusCode, response.Header, string(body)}
}

// Status reads the next answer, and returns its status.
func (c *Conn) Status() int { return c.Answer().Status }

// Head reads the status and the header of the next answer and leaves its body; 0 when
// the connection ends before.
func (c *Conn) Head() (status int, header http.Header) {
	text := textproto.NewReader(c.in)
	line, err := text.ReadLine()
	if err != nil {
		return 0, nil
	}
	fields, err := text.ReadMIMEHeader()
	if err != nil {
		return 0, nil
	}
	if _, after, ok := strings.Cut(line, " "); ok {
		code, _, _ := strings.Cut(after, " ")
		status, _ = strconv.Atoi(code) // 0 for what is none
	}
	return status, http.Header(fields)
}

// Skip reads the body of the answer whose header Head has read, which states its length.
func (c *Conn) Skip(t testing.TB, header http.Header) {
	t.Helper()
	length, err := strconv.Atoi(header.Get("Content-Length"))
	require.NoError(t, err)
	_, err = c.in.Discard(length)
	require.NoError(t, err)
}

// Line reads one line of what was not read yet.
func (c *Conn) Line() (string, error) {
	line, err := c.in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// Closed reports whether the server closes the connection with nothing more to say.
func (c *Conn) Closed() bool {
	_, err := c.in.ReadByte()
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// CloseWrite says that nothing more will be written.
func (c *Conn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// Request returns the text of a request with a header, given as lines, and a body
// whose length it states, unless that is "".
func Request(method, target, body string, header ...string) string {
	lines := append([]string{method + " " + target + " HTTP/1.1", "Host: localhost"}, header...)
	if body != "" {
		lines = append(lines, "Content-Length: "+strconv.Itoa(len(body)))
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}
