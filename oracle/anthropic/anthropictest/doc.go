// Package anthropictest is a loopback server that speaks the streaming wire
// format of the Messages API, for tests of what talks to such a server.
//
// It plays scripted replies, byte for byte and cut where the script says so,
// and refuses every request body that the real API would refuse.
package anthropictest
