package memory

import "agenthost/sessions"

var (
	errClosed         = sessions.Errorf(sessions.CodeStoreUnavailable, "The store is closed; try again after the host's restart.")
	errGivenUp        = sessions.Errorf(sessions.CodeStoreUnavailable, "The read was given up before the store answered.")
	errUnsupported    = sessions.Errorf(sessions.CodeNotSupported, "A store in memory has no files to compact.")
	errNoLife         = sessions.Errorf(sessions.CodeSessionNotFound, "The session is gone.")
	errNoParent       = sessions.Errorf(sessions.CodeSessionNotFound, "The parent session does not exist; create it first.")
	errNoChild        = sessions.Errorf(sessions.CodeSessionNotFound, "The child session of this call is gone.")
	errClosedSession  = sessions.Errorf(sessions.CodeSessionClosed, "The session is closed and takes no more input; use another session.")
	errBusy           = sessions.Errorf(sessions.CodeAgentBusy, "Another request of this session is in flight; try again when it has ended.")
	errNotAdmitted    = sessions.Errorf(sessions.CodeOverloaded, "The host has as many busy turns as it may; try again after a pause.")
	errNothingToRetry = sessions.Errorf(sessions.CodeConflict, "The session has no last turn that failed, was cancelled or was interrupted; send a prompt.")
	errNotLast        = sessions.Errorf(sessions.CodeConflict, "Only the session's last turn can be retried; this one is not it.")
	errTwoSessions    = sessions.Errorf(sessions.CodeConflict, "The id and the key belong to two different sessions; give one of them.")
	errForkTaken      = sessions.Errorf(sessions.CodeConflict, "The new session's id or key is in use; choose another one.")
	errRetained       = sessions.Errorf(sessions.CodeConflict, "The session or one below it is in use or was active since; retention leaves it.")
	errOtherRequest   = sessions.Errorf(sessions.CodeRequestConflict, "The request id was used for another request; use a new id for a new request.")
	errDeletedClaim   = sessions.Errorf(sessions.CodeSessionDeleted, "The session this request belonged to was deleted; use a new request id to start again.")
	errNoTurn         = sessions.Errorf(sessions.CodeNotFound, "The session has no such turn.")
	errNoRef          = sessions.Errorf(sessions.CodeNotFound, "The session has no such remote sub-session.")
	errCursor         = sessions.InvalidField("/args/cursor", "This cursor is not of this list; start again without one.")
)
