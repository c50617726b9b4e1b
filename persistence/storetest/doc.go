// Package storetest is the contract of sessions.Store as tests: every store
// runs it.
//
// It owns what the port promises, one file a topic, and asks a store through
// the port alone. It does not own how a store keeps its promises; a store tests
// its own files, locks and queues beside itself.
//
// Concurrency: topics run in parallel with each other, each with stores of its
// own.
package storetest
