// Package providertest is a loopback server that plays scripted replies, byte
// for byte and cut where the script says so, for tests of what talks to a model
// over HTTP. What the bytes mean, and which requests are valid, is for the
// packages that know a wire format.
package providertest
