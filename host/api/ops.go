package api

import (
	"slices"

	"agenthost/sessions"
)

// Op names an operation.
type Op string

// The operations this version knows.
const (
	OpPing            Op = "$ping"
	OpHostInfo        Op = "$hostInfo"
	OpSessionCreate   Op = "$sessionCreate"
	OpSessionGet      Op = "$sessionGet"
	OpSessionList     Op = "$sessionList"
	OpSessionUpdate   Op = "$sessionUpdate"
	OpSessionDelete   Op = "$sessionDelete"
	OpSessionClearAll Op = "$sessionClearAll"
	OpSessionSeed     Op = "$sessionSeed"
	OpSessionClose    Op = "$sessionClose"
	OpSessionDetach   Op = "$sessionDetach"
	OpSessionFork     Op = "$sessionFork"
	OpPrompt          Op = "$prompt"
	OpRetry           Op = "$retry"
	OpCancel          Op = "$cancel"
	OpAnswer          Op = "$answer"
	OpSideQuestion    Op = "$sideQuestion"
	OpTurn            Op = "$turn"
	OpTurns           Op = "$turns"
	OpMessages        Op = "$messages"
	OpFrames          Op = "$frames"
	OpState           Op = "$state"
	OpStateSet        Op = "$stateSet"
	OpChildren        Op = "$children"
	OpUsage           Op = "$usage"
	OpSubscribe       Op = "$subscribe"
	OpUnsubscribe     Op = "$unsubscribe"
	OpPurge           Op = "$purge"
	OpKeyCreate       Op = "$keyCreate"
	OpKeyList         Op = "$keyList"
	OpKeyRevoke       Op = "$keyRevoke"
)

// Args are the arguments of one operation. The implementations are pointers to
// the …Args types of this package, and those types themselves.
type Args interface {
	// Validate returns INVALID_REQUEST or PAYLOAD_TOO_LARGE about the first field
	// that is wrong. Every field of limits must be set.
	Validate(limits sessions.Limits) error
	// Authorize returns FORBIDDEN when the arguments name an owner other than
	// the caller's, or ask for what only an admin may.
	Authorize(caller Caller) error
}

// OpInfo is one row of the table of operations.
type OpInfo struct {
	Op      Op
	Summary string // one line for help texts and the documentation
	// NewArgs returns a pointer to fresh arguments.
	NewArgs func() Args
}

// opList is the only place where an operation is tied to its arguments. The
// order is that of the documentation.
var opList = []OpInfo{
	{OpPing, "Ask whether the host answers.", newArgs[PingArgs]},
	{OpHostInfo, "Describe the host: version, store, oracle, load.", newArgs[HostInfoArgs]},
	{OpSessionCreate, "Make a session, or find the one there is.", newArgs[SessionCreateArgs]},
	{OpSessionGet, "Show one session.", newArgs[SessionGetArgs]},
	{OpSessionList, "List sessions, newest activity first.", newArgs[SessionListArgs]},
	{OpSessionUpdate, "Change a session's title or labels.", newArgs[SessionUpdateArgs]},
	{OpSessionDelete, "Remove a session with everything of it.", newArgs[SessionDeleteArgs]},
	{OpSessionClearAll, "Remove every session of the owner.", newArgs[SessionClearAllArgs]},
	{OpSessionSeed, "Append a synthetic transcript to a session.", newArgs[SessionSeedArgs]},
	{OpSessionClose, "Close a session to further prompts.", newArgs[SessionCloseArgs]},
	{OpSessionDetach, "Free a session from its turn, keeping its queue.", newArgs[SessionDetachArgs]},
	{OpSessionFork, "Copy a conversation into a new session.", newArgs[SessionForkArgs]},
	{OpPrompt, "Send a prompt and await its answer.", newArgs[PromptArgs]},
	{OpRetry, "Run the last failed, cancelled or interrupted turn again.", newArgs[RetryArgs]},
	{OpCancel, "Cancel a turn or withdraw a queued prompt.", newArgs[CancelArgs]},
	{OpAnswer, "Give a waiting call its result or approval.", newArgs[AnswerArgs]},
	{OpSideQuestion, "Ask about a conversation without adding to it.", newArgs[SideQuestionArgs]},
	{OpTurn, "Show or await one turn.", newArgs[TurnArgs]},
	{OpTurns, "List a session's turns, newest first.", newArgs[TurnsArgs]},
	{OpMessages, "Read a session's messages.", newArgs[MessagesArgs]},
	{OpFrames, "Read a session's kept frames.", newArgs[FramesArgs]},
	{OpState, "Read a session's named values.", newArgs[StateArgs]},
	{OpStateSet, "Write one of a session's named values.", newArgs[StateSetArgs]},
	{OpChildren, "List a session's sub-sessions.", newArgs[ChildrenArgs]},
	{OpUsage, "Sum up what model calls consumed.", newArgs[UsageArgs]},
	{OpSubscribe, "Follow a session's frames as they come.", newArgs[SubscribeArgs]},
	{OpUnsubscribe, "End a subscription.", newArgs[UnsubscribeArgs]},
	{OpPurge, "Remove the last bytes of what was deleted.", newArgs[PurgeArgs]},
	{OpKeyCreate, "Make a key for an owner.", newArgs[KeyCreateArgs]},
	{OpKeyList, "List the keys of all owners.", newArgs[KeyListArgs]},
	{OpKeyRevoke, "End a key.", newArgs[KeyRevokeArgs]},
}

// argsOf is a pointer to T that serves as Args.
type argsOf[T any] interface {
	*T
	Args
}

func newArgs[T any, P argsOf[T]]() Args { return P(new(T)) }

// Ops returns the table of operations in documentation order.
func Ops() []OpInfo { return slices.Clone(opList) }

// Lookup returns the row of op; UNKNOWN_OP when there is none.
func Lookup(op Op) (OpInfo, error) {
	i := slices.IndexFunc(opList, func(row OpInfo) bool { return row.Op == op })
	if i < 0 {
		return OpInfo{}, sessions.Errorf(sessions.CodeUnknownOp, "No operation has this name; see docs/protocol.md for those there are.").
			With("field", "/op")
	}
	return opList[i], nil
}
