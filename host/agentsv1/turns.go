package agentsv1

import (
	"agenthost/host/api"
	"agenthost/sessions"
)

// turnStatus is the status of a turn as this API knows it.
type turnStatus string

const (
	turnQueued     turnStatus = "queued"
	turnInProgress turnStatus = "in_progress"
	turnWaiting    turnStatus = "waiting"
	turnCompleted  turnStatus = "completed"
	turnFailed     turnStatus = "failed"
	turnCancelled  turnStatus = "cancelled"
)

var turnStatuses = map[sessions.TurnStatus]turnStatus{
	sessions.TurnIsQueued: turnQueued, sessions.TurnIsRunning: turnInProgress, sessions.TurnIsWaiting: turnWaiting,
	sessions.TurnIsCompleted: turnCompleted, sessions.TurnIsFailed: turnFailed, sessions.TurnIsCancelled: turnCancelled,
	// What was cut by a stop of the host failed, to a client.
	sessions.TurnIsInterrupted: turnFailed,
}

// turnView is a turn as this API shows it.
type turnView struct {
	ID          string     `json:"id"`
	Object      string     `json:"object"`
	AgentID     string     `json:"agent_id"`
	SessionID   string     `json:"session_id"`
	SubagentID  *string    `json:"subagent_id"`
	Status      turnStatus `json:"status"`
	CreatedAt   int64      `json:"created_at"`
	StartedAt   *int64     `json:"started_at"`
	CompletedAt *int64     `json:"completed_at"`
	Error       *turnError `json:"error"`
	Usage       usageView  `json:"usage"`
}

func (t turnView) id() string { return t.ID }

// turnError is why a turn failed.
type turnError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// turnCodes are the API's codes for ends of turns; internal_error for others.
var turnCodes = map[sessions.Code]string{
	sessions.CodeAgentTimeout: "request_timeout", sessions.CodeLLMAPIFailure: "server_error",
	sessions.CodeOverloaded: "server_overloaded", sessions.CodeInvalidRequest: "invalid_request",
	sessions.CodePayloadTooLarge: "max_output_tokens", sessions.CodeUnknownProfile: "resource_not_found",
}

func viewTurn(t sessions.Turn, s sessions.Session, subagent sessions.SessionID) turnView {
	view := turnView{ID: string(t.TurnID), Object: "agent.session.turn", AgentID: agentOf(s), SessionID: string(s.ID),
		Status: turnStatuses[t.Status], CreatedAt: unix(t.CreatedAt), StartedAt: unixOrNull(t.StartedAt),
		CompletedAt: unixOrNull(t.EndedAt), Usage: viewUsage(t.Usage)}
	if subagent != "" {
		view.SubagentID, view.AgentID, view.SessionID = new(string(subagent)), string(subagent), string(s.ParentID)
	}
	if view.Status == turnFailed {
		view.Error = viewTurnError(t.Error)
	}
	return view
}

func viewTurnError(e *sessions.ErrorInfo) *turnError {
	if e == nil {
		return &turnError{"internal_error", "The turn ended without an answer."}
	}
	code, ok := turnCodes[e.Code]
	if !ok {
		code = "internal_error"
	}
	return &turnError{code, e.Message}
}

func (v *visit) listTurns(n named) error {
	q, err := v.page()
	if err != nil {
		return err
	}
	s, err := v.session(n.at)
	if err != nil {
		return err
	}
	got, err := v.access.Turns(v.ctx(), &api.TurnsArgs{Address: n.at, Limit: &q.limit, After: sessions.TurnID(q.after), Ascending: q.ascending})
	if q.after != "" && sessions.CodeOf(err) == sessions.CodeNotFound {
		return unknownAfter()
	}
	if err != nil {
		return err
	}
	views := make([]turnView, len(got.Turns))
	for i, t := range got.Turns {
		views[i] = viewTurn(t, s, n.subagent)
	}
	return v.reply(listOf(views, got.NextCursor != ""))
}

// turn returns the turn that a path names; whatever is wrong with its id is the
// same to the caller.
func (v *visit) turn(at api.Address, id sessions.TurnID) (sessions.Turn, error) {
	got, err := v.access.Turn(v.ctx(), &api.TurnArgs{Address: at, TurnID: id})
	if sessions.CodeOf(err) == sessions.CodeInvalidRequest {
		return sessions.Turn{}, notFound()
	}
	if err != nil {
		return sessions.Turn{}, err
	}
	return got.Turn.Turn, nil
}

func (v *visit) getTurn(n named) error {
	s, err := v.session(n.at)
	if err != nil {
		return err
	}
	t, err := v.turn(n.at, n.turn)
	if err != nil {
		return err
	}
	return v.reply(viewTurn(t, s, n.subagent))
}
