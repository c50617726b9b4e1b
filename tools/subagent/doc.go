// Package subagent is the tool by which a model lets another agent work: a
// session of its own, on the same host or on another one.
//
// A call without a name has a child of its own; a call with a name has a
// companion, which the parent keeps and later calls use. Either way the parent's
// record of the child, its ref, is durable before the child is asked for
// anything, and every prompt goes out under a request id that the call alone
// has. So a call that is run again after a crash finds the child that it made,
// and the turn that it asked for: it may be repeated.
//
// What is the same wherever a child lives is here. A Place says how to reach it:
// package actors has the one for children on the same host, host/remotes the one
// for those of another.
//
// A Tool has no goroutines of its own and keeps nothing between calls. It is
// safe for concurrent use.
package subagent
