package sessions

// What every store answers with, so that a refusal reads the same whoever gives
// it. errors.Is finds them also with details and a cause.

// ErrNoSession is the answer to an address that no session has, whatever the
// operation and whoever might have a session there.
var ErrNoSession = Errorf(CodeSessionNotFound, "No session has this address; create it first or check the id.")

// ErrLifeOver is the answer to a read of a life that is over.
var ErrLifeOver = Errorf(CodeSessionNotFound, "The session is gone.")

// ErrFenced refuses a write of a dead incarnation or an older epoch. Nothing of
// the write is stored.
var ErrFenced = Errorf(CodeConflict, "The write belongs to a life or activation of the session that is over.")

// ErrSessionClosed refuses input to a closed session.
var ErrSessionClosed = Errorf(CodeSessionClosed, "The session is closed and takes no more input; use another session.")

// ErrSessionBusy refuses what needs a session without a turn. Its details.turnId
// is that of the active turn, if one is.
var ErrSessionBusy = Errorf(CodeAgentBusy, "Another request of this session is in flight; try again when it has ended, or cancel it.")

// UnknownProfile refuses what is for a profile that the host does not have.
func UnknownProfile(name string) *Error {
	return Errorf(CodeUnknownProfile, "This host has no profile %q; see its configuration for those it has.", name)
}

// ErrNotAdmitted refuses a turn that the host has no room for.
var ErrNotAdmitted = Errorf(CodeOverloaded, "The host has as many busy turns as it may; try again after a pause.")

// The refusals of a create and a fork.
var (
	ErrTwoSessions = Errorf(CodeConflict, "The id and the key belong to two different sessions; give one of them.")
	ErrForkTaken   = Errorf(CodeConflict, "The new session's id or key is in use; choose another one.")
	ErrNoParent    = Errorf(CodeSessionNotFound, "The parent session does not exist; create it first.")
	ErrNoChild     = Errorf(CodeSessionNotFound, "The child session of this call is gone.")
)

// ErrNoRef refuses to settle a child that the parent has no remote ref to.
var ErrNoRef = Errorf(CodeNotFound, "The session has no such remote sub-session.")

// ErrTreeBusy refuses a delete that is to leave busy sessions alone. Its
// details.reason tells it from other conflicts.
var ErrTreeBusy = Errorf(CodeConflict, "The session, or one below it, is busy; wait for its turn to end, or delete with ifBusy cancel, which ends the turn.").
	With("reason", ReasonBusy)

// ErrNotSettled refuses a delete that is for sessions without a turn under way.
var ErrNotSettled = Errorf(CodeConflict, "The session has a turn that has not ended; cancel it or wait for its end.").
	With("reason", ReasonBusy)

// ReasonBusy is the details.reason of ErrTreeBusy and ErrNotSettled.
const ReasonBusy = "busy"

// ErrRetained refuses a delete whose Retirement does not hold.
var ErrRetained = Errorf(CodeConflict, "The session or one below it is in use, damaged or was active since; retention leaves it.")

// The answers about turns.
var (
	ErrNoTurn         = Errorf(CodeNotFound, "The session has no such turn.")
	ErrTurnEnded      = Errorf(CodeConflict, "The turn has already ended.") // to a write
	ErrNothingToRetry = Errorf(CodeConflict, "The session has no last turn that failed, was cancelled or was interrupted; send a prompt.")
	ErrNotLastTurn    = Errorf(CodeConflict, "Only the session's last turn can be retried; this one is not it.")
)

// The answers about calls that wait.
var (
	ErrNoCall      = Errorf(CodeNotFound, "The session has no call with this id that waits for an answer or had one.")
	ErrOtherAnswer = Errorf(CodeConflict, "The call was answered already, and otherwise.")
	ErrWrongAnswer = InvalidField("/args", "A call that waits for an approval takes approve, one of a client's tool output or error.")
)

// ErrCallWaited refuses to let a turn wait again for what was answered.
var ErrCallWaited = Errorf(CodeInternal, "The turn has waited for one of these calls before.")

// The answers to a request id that is claimed.
var (
	ErrOtherRequest   = Errorf(CodeRequestConflict, "The request id was used for another request; use a new id for a new request.")
	ErrRequestDeleted = Errorf(CodeSessionDeleted, "The session this request belonged to was deleted; use a new request id to start again.")
)

// ErrCursor refuses a cursor that is not of the list that is asked for.
var ErrCursor = InvalidField("/args/cursor", "This cursor is not of this list; start again without one.")

// ErrOutcomeUnknown is returned when the caller stopped waiting for a write
// that may still land.
var ErrOutcomeUnknown = Errorf(CodeStoreUnavailable, "The write was not confirmed in time; ask again with the same request id.")

// ErrReadGivenUp is returned when the caller stopped waiting for a read.
var ErrReadGivenUp = Errorf(CodeStoreUnavailable, "The read was given up before the store answered.")

// ErrStoreClosed is the answer of a store after its Close.
var ErrStoreClosed = Errorf(CodeStoreUnavailable, "The store is closed; try again after the host's restart.")
