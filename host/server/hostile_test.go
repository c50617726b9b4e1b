package server_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/server"
	"agenthost/sessions"
)

// raw opens a connection and writes text to it.
func raw(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return conn
}

// statusOf reads an answer; 0 when the connection ends without one.
func statusOf(conn net.Conn) int {
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

const ping = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

func TestHugeHeadersAreRefused(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	conn := raw(t, address, "GET /healthz HTTP/1.1\r\nHost: x\r\n")
	for range 100 { // until it takes no more
		if _, err := io.WriteString(conn, "X-Fill: "+strings.Repeat("x", 1024)+"\r\n"); err != nil {
			break
		}
	}
	require.Contains(t, []int{0, 431}, statusOf(conn), "refused, or cut off while it still sends")
	require.Equal(t, 200, statusOf(raw(t, address, ping)), "others are served")
}

func TestBodiesThatDoNotComeAreGivenUp(t *testing.T) {
	address := start(t, &service{}, server.Config{BodyTimeout: 10 * time.Millisecond})
	conn := raw(t, address, "POST /v1/call HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	require.Equal(t, 400, statusOf(conn))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err, "and the connection is closed")
}

func TestNonsenseIsNoFault(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	for _, text := range []string{
		"\x16\x03\x01\x00\xa5\x01\x00\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET\r\n\r\n", "\r\n\r\n\r\n\r\n\r\n",
		"GET /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
		"POST /v1/call HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
		"POST /v1/call HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET /v1/sessions/%2e%2e%2f%2e%2e/frames HTTP/1.1\r\nHost: x\r\nOrigin: http://x%\r\n\r\n",
		"GET /v1/sessions/a/frames?after=%zz HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://elsewhere.example/v1/../healthz HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		conn := raw(t, address, text)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		require.Less(t, statusOf(conn), 500, "%q", text)
	}
	require.Equal(t, 200, statusOf(raw(t, address, ping)))
}

func TestIdleConnectionsMakeRoom(t *testing.T) {
	const limit = 4
	address := start(t, &service{}, server.Config{Limits: sessions.Limits{Connections: limit}})
	first := raw(t, address, ping)
	require.Equal(t, 200, statusOf(first))
	for i := range 5 * limit {
		require.Equal(t, 200, statusOf(raw(t, address, ping)), "connection %d of a crowd that stays", i)
	}
	_, err := first.Read(make([]byte, 1))
	require.Error(t, err, "the one that waited the longest was closed")
}

func TestConnectionsAtWorkAreNotDropped(t *testing.T) {
	const limit = 2
	began, release := make(chan struct{}, limit), make(chan struct{})
	address := start(t, &service{do: slowPrompt(began, release)}, server.Config{Limits: sessions.Limits{Connections: limit}})
	body := `{"op":"$prompt","args":{"targetKey":"k","text":"x"}}`
	request := fmt.Sprintf("POST /v1/call HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	working := []net.Conn{raw(t, address, request), raw(t, address, request)}
	for range working {
		<-began
	}
	conn := raw(t, address, "")
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err, "there is no room")
	close(release)
	for _, conn := range working {
		require.Equal(t, 200, statusOf(conn))
	}
	require.Equal(t, 200, statusOf(raw(t, address, ping)), "there is room again")
}

func TestTLS(t *testing.T) {
	issued := httptest.NewUnstartedServer(nil)
	issued.StartTLS()
	defer issued.Close()
	roots := x509.NewCertPool()
	roots.AddCert(issued.Certificate())
	address := start(t, &service{}, server.Config{
		TLS:    &tls.Config{Certificates: issued.TLS.Certificates, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12},
		Limits: sessions.Limits{Connections: 2},
	})
	for range 5 {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, ping)
		require.NoError(t, err)
		require.Equal(t, 200, statusOf(conn))
	}
	require.Equal(t, 400, statusOf(raw(t, address, ping)), "without TLS")
}
