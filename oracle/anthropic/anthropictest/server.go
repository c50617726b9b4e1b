package anthropictest

import (
	"testing"

	"agenthost/oracle/provider/providertest"
)

// What a server plays, and what it was asked.
type (
	Server  = providertest.Server
	Request = providertest.Request
	Reply   = providertest.Reply
	Piece   = providertest.Piece
	Call    = providertest.Call
)

// The ends of a stream: with a broken connection, or not before the client
// leaves. The zero value ends it in order.
const (
	Cut  = providertest.Cut
	Hang = providertest.Hang
)

// API is the format. Its base URL has no path.
var API = providertest.API{Path: "/v1/messages", Validate: Validate, Failure: Failure}

// New starts a server that answers its n-th request with the n-th reply. A
// request beyond the script, or one that Validate refuses, fails the test.
func New(t testing.TB, script ...Reply) *Server {
	t.Helper()
	return providertest.New(t, API, script...)
}

// NewFunc starts a server whose replies answer computes; it may be called from
// many goroutines at once.
func NewFunc(t testing.TB, answer func(Request) Reply) *Server {
	t.Helper()
	return providertest.NewFunc(t, API, answer)
}
