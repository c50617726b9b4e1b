// Package memory keeps sessions in the memory of the process: an implementation
// of sessions.Store for the tests of programs that embed a host, and the worked
// example of docs/stores.md. Nothing survives the process, nor Close.
//
// It owns nothing but maps. It does not own the meaning of what it stores, which
// is in package sessions, and it leaves nothing to sweep: what is deleted is gone
// at once. Lists and walks of trees look at every session, so that it is for
// thousands of them and not for millions. It cannot be compacted.
//
// Concurrency: one lock guards everything, and is given in the order in which it
// was asked for. Every method is one critical section, which makes it atomic. A
// write looks at all it needs before it changes anything. Every exported method
// may be called from any goroutine.
//
// Where to look: store.go and record.go are what is kept; claim.go and
// tombstone.go what is remembered of requests. Each command of the port has a
// file, as has each kind of question. copy.go keeps what is stored apart from what
// callers hold.
package memory
