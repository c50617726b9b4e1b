// Package sessions is the vocabulary of the host: the values every other
// package speaks in (owners, ids, keys, messages, frames, turns, errors), the
// one lifecycle table, and the Store port with its contract.
//
// It owns meaning, not effects: no I/O, no goroutines, no clock. Time and ids
// arrive as values. Everything here is safe for concurrent reading; nothing is
// changed after it has been handed to another package.
//
// The package imports the standard library only.
package sessions
