// Package actors is the actor tree that runs sessions.
//
//	agents (root)        knows who is mounted where; memory only, never waits
//	  └─ <n> (agent)     one per resident session: its turn, its queue, its callers
//	       └─ run        a goroutine: the oracle loop of one turn
//	tools (toolTree)     one toolActor per mount
//
// A prompt enters through System.Prompt or as a *Prompt sent to System.Root.
// The root finds or mounts the session's agent; the agent lets the store accept
// the turn and starts a run; the run calls the oracle and the tools, commits
// every finished step and then the end; the agent answers the callers.
//
// Who may do what: the root alone forwards and decides who lives; an agent
// alone holds the callers of its session; a run alone calls models and tools.
// Nothing in a mailbox does I/O: blocking work runs in goroutines that report
// back by message, naming the turn they belong to. What is durable is stored
// first, then published to the feed, then answered.
//
// Delivery is at most once between actors of a process. What must not be lost
// is in the store before it is acknowledged.
//
// Where to look: edge.go and system.go are the way in for the rest of the host,
// messages.go the way in for other actors. The root is in root.go, with
// root_entry.go for what it knows of a session, and root_delete.go, root_clear.go
// and root_close.go for deletions.
// The agent is in agent.go and the agent_ files, one for each thing asked of it;
// the run in run.go and the run_ files, one for each stage of a step, with
// recover.go for turns of an earlier host. Tools are tooltree.go, toolactor.go
// and pidtool.go. What all of them share is in deps.go, profile.go and errors.go.
//
// protoactor-go is used in this package and nowhere else in the module.
package actors
