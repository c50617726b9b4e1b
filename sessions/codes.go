package sessions

import "slices"

// Code names what went wrong. Clients branch on it; the text beside it is for
// people. Codes travel verbatim over every door and are stored verbatim.
type Code string

// The closed list of codes. CodeInfo gives each one's meaning.
const (
	CodeInvalidRequest     Code = "INVALID_REQUEST"
	CodePayloadTooLarge    Code = "PAYLOAD_TOO_LARGE"
	CodeUnauthenticated    Code = "UNAUTHENTICATED"
	CodeForbidden          Code = "FORBIDDEN"
	CodeUnknownOp          Code = "UNKNOWN_OP"
	CodeUnknownProfile     Code = "UNKNOWN_PROFILE"
	CodeNotFound           Code = "NOT_FOUND"
	CodeSessionNotFound    Code = "SESSION_NOT_FOUND"
	CodeSessionClosed      Code = "SESSION_CLOSED"
	CodeSessionDeleted     Code = "SESSION_DELETED"
	CodeSessionDamaged     Code = "SESSION_DAMAGED"
	CodeRequestConflict    Code = "REQUEST_CONFLICT"
	CodeConflict           Code = "CONFLICT"
	CodeAgentBusy          Code = "AGENT_BUSY"
	CodeAgentTimeout       Code = "AGENT_TIMEOUT"
	CodeLLMAPIFailure      Code = "LLM_API_FAILURE"
	CodeMaxIterations      Code = "MAX_ITERATIONS"
	CodeToolScopeViolation Code = "TOOL_SCOPE_VIOLATION"
	CodeToolInvokeFailed   Code = "TOOL_INVOKE_FAILED"
	CodeCancelled          Code = "CANCELLED"
	CodeOverloaded         Code = "OVERLOADED"
	CodeStoreUnavailable   Code = "STORE_UNAVAILABLE"
	CodeHostStopping       Code = "HOST_STOPPING"
	CodeHostRestarted      Code = "HOST_RESTARTED"
	CodeCrashLoop          Code = "CRASH_LOOP"
	CodeSubagentLost       Code = "SUBAGENT_LOST"
	CodeNotSupported       Code = "NOT_SUPPORTED"
	CodeInternal           Code = "INTERNAL"
)

// CodeInfo is one row of the code list.
type CodeInfo struct {
	Code       Code
	HTTPStatus int    // the status of the HTTP door
	Retryable  bool   // the same request id may succeed later
	Meaning    string // one sentence for the documentation
}

// codeList is the only place where a code's meaning, status and retryability
// are written. The order is the order of the documentation.
var codeList = []CodeInfo{
	{CodeInvalidRequest, 400, false, "The request is malformed; details.field points at the place."},
	{CodeUnknownOp, 400, false, "No operation has this name."},
	{CodeUnknownProfile, 400, false, "No profile has this key on this host."},
	{CodeUnauthenticated, 401, false, "A key is needed and none, or an unknown one, was given."},
	{CodeForbidden, 403, false, "The key may not do this."},
	{CodeNotFound, 404, false, "No turn, request, call or subscription has this id here."},
	{CodeSessionNotFound, 404, false, "No session has this address."},
	{CodeAgentBusy, 409, true, "Another request of this session is in flight."},
	{CodeConflict, 409, false, "The request contradicts what is stored."},
	{CodeRequestConflict, 409, false, "The request id was used for another request."},
	{CodeSessionClosed, 409, false, "The session is closed and takes no more input."},
	{CodeSessionDeleted, 410, false, "The session was deleted while the request was under way or since."},
	{CodePayloadTooLarge, 413, false, "Something is too long or too many; details.limit names the limit."},
	{CodeMaxIterations, 422, false, "The turn used all its model calls without coming to an answer."},
	{CodeToolScopeViolation, 422, false, "The model called a tool outside the profile's subtree."},
	{CodeToolInvokeFailed, 422, false, "A tool could not be run to a result."},
	// 429 rather than 503: the host is well, this caller should slow down.
	{CodeOverloaded, 429, true, "The host is at a limit; try again after a pause."},
	// 499 is nginx's "client closed request": no registered status says "you cancelled it".
	{CodeCancelled, 499, false, "The turn was cancelled."},
	{CodeInternal, 500, false, "A fault of the host; its log has the rest."},
	{CodeSessionDamaged, 500, false, "A stored body of the session fails its checksum; only delete works."},
	{CodeNotSupported, 501, false, "This host does not offer the operation or option."},
	{CodeLLMAPIFailure, 502, false, "The model call failed after its retries."},
	{CodeSubagentLost, 502, false, "A remote sub-agent is gone."},
	{CodeCrashLoop, 503, false, "The turn stopped the host too often and is not tried again."},
	{CodeHostRestarted, 503, false, "The host stopped in the middle of a step that must not be repeated."},
	{CodeHostStopping, 503, true, "The host is shutting down; try again after its restart."},
	{CodeStoreUnavailable, 503, true, "The store cannot take writes now; nothing was half-written."},
	{CodeAgentTimeout, 504, false, "The turn exceeded its time limit."},
}

// Codes returns the whole code list in documentation order.
func Codes() []CodeInfo { return slices.Clone(codeList) }

// Info returns the row of c, and that of INTERNAL for a code not in the list.
func (c Code) Info() CodeInfo {
	var internal CodeInfo
	for _, row := range codeList {
		if row.Code == c {
			return row
		}
		if row.Code == CodeInternal {
			internal = row
		}
	}
	return internal
}
