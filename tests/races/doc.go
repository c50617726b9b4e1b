// Package races holds the tests that race deletes with what may come for a
// session at the same moment: a prompt, a value of state, a child, a transcript,
// a fork, a close. Each race is run in both orders, which the writer's line of
// jobs is stopped for, and freely; with deletes that cancel and with deletes that
// refuse what is busy; at the session that is deleted and at one below it. One
// side wins: nothing of a tree that has ended is left, and a delete that is
// refused changes nothing. The input of the Agents API is raced with its DELETE,
// which takes settled sessions only, in the same orders.
//
// Nothing imports the package, and it holds no code but tests.
package races
