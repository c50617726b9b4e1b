// Package openaitest is a loopback server that speaks the streaming chat
// completions wire format, for tests of what talks to such a server.
//
// It plays scripted replies, byte for byte and cut where the script says so,
// and refuses every request body that the real API would refuse. A Server is
// safe for concurrent use and ends with its test.
package openaitest
