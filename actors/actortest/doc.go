// Package actortest helps to test programs that use the actor tree: it builds a
// System over a store in a temporary file, sends prompts and waits for facts
// about them, and at the end of the test stops the tree and looks for goroutines
// it has left.
//
// Waits have no limit of their own: a hang is ended by the limit of go test, with
// the stacks of all goroutines, or at once in a bubble of testing/synctest.
//
// Concurrency: the methods of a World may be called from many goroutines, as
// far as they return errors or replies; those that fail the test belong to its
// goroutine. Tests with a World cannot run in parallel with others, whose
// goroutines would be taken for leaks.
package actortest
