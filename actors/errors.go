package actors

import (
	"agenthost/sessions"
)

// The refusals of the tree, each worded once.

func errStopping() *sessions.Error {
	return sessions.Errorf(sessions.CodeHostStopping, "The host is shutting down; send the same request again after its restart.")
}

func errCutByStop(id sessions.TurnID) *sessions.Error {
	return sessions.Errorf(sessions.CodeHostStopping,
		"The host shut down while the turn ran; ask for the same request id after its restart.").With("turnId", id)
}

func errDeleted() *sessions.Error {
	return sessions.Errorf(sessions.CodeSessionDeleted, "The session was deleted while the request was under way.")
}

func errClearing() *sessions.Error {
	return sessions.Errorf(sessions.CodeConflict, "The owner's sessions are being cleared already; wait for that to end.")
}

func errOverloaded(limit string, max int64) *sessions.Error {
	return sessions.Errorf(sessions.CodeOverloaded, "The host is at its limit of %d; send the same request again after a pause.", max).
		With("limit", limit).With("max", max)
}

func errRequestConflict(id sessions.RequestID) *sessions.Error {
	return sessions.Errorf(sessions.CodeRequestConflict, "Request id %q was used for another request; use a new one.", id)
}

func errFault() *sessions.Error {
	return sessions.Errorf(sessions.CodeInternal, "The host met a fault of its own while it handled the request; its log has the rest.")
}

func errCancelled(id sessions.TurnID) *sessions.Error {
	return sessions.Errorf(sessions.CodeCancelled, "The turn was cancelled.").With("turnId", id)
}

func errClosed() *sessions.Error {
	return sessions.Errorf(sessions.CodeSessionClosed, "The session was closed.")
}

func errRestarted() *sessions.Error {
	return sessions.Errorf(sessions.CodeHostRestarted,
		"The host stopped in the middle of a step that must not be repeated; prompt again or retry to go on.")
}

func errCrashLoop() *sessions.Error {
	return sessions.Errorf(sessions.CodeCrashLoop,
		"The host stopped uncleanly each of the %d times it took the turn up; it is not tried again.", maxAttempts)
}

func errTimeout(ms int64) *sessions.Error {
	return sessions.Errorf(sessions.CodeAgentTimeout, "The turn ran longer than its limit of %d ms.", ms).
		With("limit", "promptTimeoutMs").With("max", ms)
}

func errSideTimeout(ms int64) *sessions.Error {
	return sessions.Errorf(sessions.CodeAgentTimeout, "The side question took longer than the profile's limit of %d ms.", ms).
		With("limit", "promptTimeoutMs").With("max", ms)
}

func errSideCancelled() *sessions.Error {
	return sessions.Errorf(sessions.CodeCancelled, "The side question was cancelled.")
}

func errSideReplaced() *sessions.Error {
	return sessions.Errorf(sessions.CodeCancelled, "The side question was given up for another one of the same session; ask one at a time.")
}

func errNoConversation() *sessions.Error {
	return sessions.Errorf(sessions.CodeConflict, "The session has no conversation to ask about yet; send a prompt first.")
}

func errWaitTimeout(ms int64) *sessions.Error {
	return sessions.Errorf(sessions.CodeAgentTimeout, "The turn waited for clients longer than its limit of %d ms.", ms).
		With("limit", "waitTimeout").With("max", ms)
}

func errDeclined(path string) *sessions.Error {
	return errTool(path, "The call was declined; the tool at %s was not run.", path)
}

func errMaxIterations(max int) *sessions.Error {
	return sessions.Errorf(sessions.CodeMaxIterations, "The turn made its %d model calls without coming to an answer.", max).
		With("limit", "maxIterations").With("max", max)
}

func errOverBudget(b allowance, used int64) *sessions.Error {
	way := "raise " + b.limit
	if b.limit == "ownerDayTokens" {
		way += ", or wait for the next day of UTC"
	}
	return sessions.TooLarge(b.limit, b.max, "The budget of %d tokens is used up, with %d consumed; %s.", b.max, used, way).With("used", used)
}

func errTextTooLong(limit int64) *sessions.Error {
	return sessions.TooLarge("turnTextBytes", limit,
		"The model wrote more than the %d bytes of text that a turn may have.", limit)
}

func errScope(path string) *sessions.Error {
	return sessions.Errorf(sessions.CodeToolScopeViolation, "The model called %s, which is outside the tools its profile allows; add the path to the profile's tools if it may.", path).
		With("path", path)
}

func errTool(path, format string, args ...any) *sessions.Error {
	return sessions.Errorf(sessions.CodeToolInvokeFailed, format, args...).With("path", path)
}

func errToolTooLarge(size int, limit int64) *sessions.Error {
	return sessions.TooLarge("toolResultBytes", limit, "The tool's output of %d bytes is over the limit of %d.", size, limit)
}

func errNotRun(reason string) *sessions.Error {
	return sessions.Errorf(sessions.CodeCancelled, "The call was not run: %s.", reason)
}
