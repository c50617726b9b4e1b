// Package model holds the tests that compare a whole host with a plain model of
// its contract: random histories of one client, with crashes, restarts and a
// clock that is set (histories), concurrent histories that must be linearizable,
// and races of which exactly one side may win.
//
// The model is written from the contract and shares no code with the host but
// the vocabulary. It is sequential: one command at a time, and what a command
// leaves running is held at a gate until a later command lets it go on.
package model
