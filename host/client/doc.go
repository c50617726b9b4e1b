// Package client speaks the `$` protocol to a host, from Go.
//
// It owns connections, not meaning: arguments, results and errors are those of
// package api and package sessions, and every check is the host's. A call is a
// POST; a prompt whose frames are wanted and a subscription have a WebSocket
// each, so that a slow one holds up no other.
//
// An error with a code is an *sessions.Error and came from the host. An error
// that is ErrUnreachable came from the way there: what was asked may have
// happened or not. Nothing is repeated on its own except a prompt, which its
// request id makes safe; see Client.Prompt.
//
// A Client is safe for concurrent use and has no goroutines between calls
// besides those of idle HTTP connections, which Close ends.
package client
