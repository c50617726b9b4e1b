// Package remotes lets the agents of a host ask those of other agenthosts: the
// sub-agents that are mounted at /agents/<remote>/<profile>.
//
// A child there is a session of its own without a parent; what ties it to its
// parent is the parent's ref, which is durable before the other host hears of the
// child. A connection that is lost is tried again for a grace period, under the
// same ids, so that nothing runs twice. When that is over, or when the other host
// does not know the session any more, the child is lost: its ref says so, and the
// call fails with SUBAGENT_LOST.
//
// A Remote is safe for concurrent use. It has no goroutines between calls besides
// those of idle connections, which Close ends.
package remotes
