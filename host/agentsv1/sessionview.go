package agentsv1

import (
	"cmp"
	"context"
	"encoding/json"

	"agenthost/host"
	"agenthost/sessions"
)

// sessionStatus is the status of a session as this API knows it.
type sessionStatus string

const (
	statusIdle           sessionStatus = "idle"
	statusInProgress     sessionStatus = "in_progress"
	statusRequiresAction sessionStatus = "requires_action"
	statusFailed         sessionStatus = "failed"
)

// sessionView is a session as this API shows it.
type sessionView struct {
	ID              string            `json:"id"`
	Object          string            `json:"object"`
	Agent           agentView         `json:"agent"`
	CreatedAt       int64             `json:"created_at"`
	LastActiveAt    int64             `json:"last_active_at"`
	Environment     environmentView   `json:"environment"`
	Error           *string           `json:"error"`
	Metadata        map[string]string `json:"metadata"`
	RequiredActions []requiredAction  `json:"required_actions"`
	Status          sessionStatus     `json:"status"`
	Usage           usageView         `json:"usage"`
	VaultIDs        []string          `json:"vault_ids"`
}

func (s sessionView) id() string { return s.ID }

type environmentView struct {
	Type string `json:"type"`
}

// requiredAction is a call that waits for the client.
type requiredAction struct {
	Type      string          `json:"type"`
	CallID    sessions.CallID `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	TurnID    sessions.TurnID `json:"turn_id"`
}

// usageView is usage as this API shows it.
type usageView struct {
	InputTokens        int64         `json:"input_tokens"`
	InputTokensDetails cachedTokens  `json:"input_tokens_details"`
	OutputTokens       int64         `json:"output_tokens"`
	OutputDetails      reasoningPart `json:"output_tokens_details"`
	TotalTokens        int64         `json:"total_tokens"`
}

type cachedTokens struct {
	CachedTokens int64 `json:"cached_tokens"`
}

type reasoningPart struct {
	ReasoningTokens int64 `json:"reasoning_tokens"`
}

func viewUsage(u sessions.Usage) usageView {
	return usageView{InputTokens: u.InputTokens, InputTokensDetails: cachedTokens{u.CachedTokens},
		OutputTokens: u.OutputTokens, TotalTokens: u.Tokens()}
}

// agentOf returns the id of a session's agent: of a saved one, else of its profile.
func agentOf(s sessions.Session) string { return cmp.Or(string(s.AgentID), s.ProfileKey) }

// viewSession returns a session as this API shows it.
func viewSession(ctx context.Context, access *host.Access, s sessions.Session) (sessionView, error) {
	asked, err := settingsOf(ctx, access, s)
	if err != nil {
		return sessionView{}, err
	}
	agent := viewAgent(access, s.ProfileKey, asked)
	if s.AgentID != "" {
		agent.as(s.AgentID, asked.Name)
	}
	view := sessionView{
		ID: string(s.ID), Object: "agent.session", Agent: agent,
		CreatedAt: unix(s.CreatedAt), LastActiveAt: unix(s.LastActiveAt), Environment: environmentView{"none"},
		Metadata: s.Labels, RequiredActions: actionsOf(s), Status: statusOf(s), Usage: viewUsage(s.Usage), VaultIDs: []string{},
	}
	if s.LastError != nil && view.Status == statusFailed {
		view.Error = &s.LastError.Message
	}
	return view, nil
}

// statusOf returns the status of a session. One that is closed takes no more input
// and is otherwise idle; one with turns that wait for their start is at work, and so is
// one whose calls are all answered.
func statusOf(s sessions.Session) sessionStatus {
	switch {
	case s.Status == sessions.StatusWaiting && len(s.Pending) > 0:
		return statusRequiresAction
	case s.Status == sessions.StatusRunning, s.Status == sessions.StatusWaiting, s.Queued > 0:
		return statusInProgress
	case s.Status == sessions.StatusFailed:
		return statusFailed
	}
	return statusIdle
}

func actionsOf(s sessions.Session) []requiredAction {
	actions := []requiredAction{}
	if s.ActiveTurn == nil {
		return actions
	}
	for _, p := range s.Pending {
		actions = append(actions, requiredAction{Type: "function_call", CallID: p.CallID, Name: functionName(p.Path),
			Arguments: p.Args, TurnID: s.ActiveTurn.TurnID})
	}
	return actions
}

// agentView is the agent of a session.
type agentView struct {
	ID           string         `json:"id"`
	Instructions string         `json:"instructions"`
	Model        string         `json:"model"`
	MultiAgent   multiAgentView `json:"multi_agent"`
	Name         *string        `json:"name"`
	Reasoning    reasoningView  `json:"reasoning"`
	ServiceTier  string         `json:"service_tier"`
	Text         textView       `json:"text"`
	Tools        []toolView     `json:"tools"`
}

// as makes the agent a saved one; "" is no name.
func (a *agentView) as(id sessions.AgentID, name string) {
	if a.ID, a.Name = string(id), nil; name != "" {
		a.Name = &name
	}
}

// bytes is how much text of clients the view has, as a rule.
func (a agentView) bytes() int64 {
	n := len(a.Instructions) + len(a.Text.Format.Schema)
	for _, t := range a.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return int64(n)
}

type multiAgentView struct {
	Enabled bool   `json:"enabled"`
	Most    *int64 `json:"max_concurrent_subagents"`
}

type reasoningView struct {
	Effort  *sessions.Effort `json:"effort"`
	Summary *string          `json:"summary"`
}

type textView struct {
	Format    formatView `json:"format"`
	Verbosity string     `json:"verbosity"`
}

type formatView struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

type toolView struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Parameters   json.RawMessage `json:"parameters"`
	DeferLoading bool            `json:"defer_loading"`
}

// viewAgent returns the agent that a profile is with what is asked of it.
func viewAgent(access *host.Access, profileKey string, asked settings) agentView {
	profile, known := profileNamed(access, profileKey)
	if !known {
		profile = host.ProfileInfo{Name: profileKey, Oracle: profileKey}
	}
	view := viewProfile(profile)
	view.Model, view.Instructions = cmp.Or(asked.Model, view.Model), cmp.Or(asked.Instructions, view.Instructions)
	if asked.Effort != "" {
		view.Reasoning.Effort = &asked.Effort
	}
	if asked.Schema != nil {
		view.Text.Format = formatView{"json_schema", asked.Schema}
	}
	for _, t := range asked.Tools {
		view.Tools = append(view.Tools, toolView{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	return view
}

// viewProfile returns a profile as the agent that it is.
func viewProfile(p host.ProfileInfo) agentView {
	view := agentView{ID: p.Name, Model: p.Oracle, Name: &p.Name, Instructions: p.System, ServiceTier: "default",
		Text: textView{Format: formatView{Type: "text"}, Verbosity: "medium"}, Tools: []toolView{}}
	if p.Inference.Params.Effort != "" {
		view.Reasoning.Effort = &p.Inference.Params.Effort
	}
	if p.Inference.AnswerSchema != nil {
		view.Text.Format = formatView{"json_schema", p.Inference.AnswerSchema}
	}
	return view
}

func profileNamed(access *host.Access, name string) (host.ProfileInfo, bool) {
	for _, p := range access.Profiles() {
		if p.Name == name {
			return p, true
		}
	}
	return host.ProfileInfo{}, false
}

// unix returns the time in whole seconds.
func unix(t sessions.Time) int64 { return int64(t) / 1000 }

// unixOrNull does so, with null for a time that has not come.
func unixOrNull(t sessions.Time) *int64 {
	if t == 0 {
		return nil
	}
	return new(unix(t))
}
