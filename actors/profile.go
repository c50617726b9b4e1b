package actors

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"agenthost/oracle"
	"agenthost/sessions"
	"agenthost/tools"
)

// FaultPolicy says what a tool fault does to its turn.
type FaultPolicy string

// The policies. The zero value means the documented default of its field.
const (
	Fail   FaultPolicy = "fail"   // the turn fails with the fault's code
	Report FaultPolicy = "report" // the model gets the fault as the call's result
)

// Profile says who answers a session's prompts, and within which bounds.
type Profile struct {
	Oracle oracle.Oracle // required
	System string        // the system prompt; not part of the stored history
	// Tools are the allowed subtrees; "{target}" stands for the session's own.
	Tools         []string
	MaxIterations int           // model calls a turn; 0 means 25
	PromptTimeout time.Duration // a turn's running time; 0 means 5 minutes
	IdleTTL       time.Duration // 0 means the system's
	ToolTimeout   time.Duration // one tool call's running time; 0 means 2 minutes
	Budget        Budget
	// Repeatable are subtrees whose tools do no harm when a call is run a second
	// time, beside those that say so of themselves.
	Repeatable []string
	// NeedsApproval are subtrees whose tools run only once a client has approved
	// the call, beside those that say so of themselves.
	NeedsApproval []string
	// ClientTools are tools that clients run. Models are shown them beside the
	// tools that are allowed; a request may bring more of them, or others at the
	// same paths.
	ClientTools      []sessions.ClientTool
	WaitTimeout      time.Duration // for which a turn waits for clients at a time; 0 means no bound
	OnScopeViolation FaultPolicy   // default Fail
	OnToolError      FaultPolicy   // default Report
	Params           sessions.Params
	// AnswerSchema is the JSON Schema of the object that every answer must hold,
	// nil for free text.
	AnswerSchema json.RawMessage

	model string // the oracle's name
}

const (
	defaultMaxIterations = 25
	defaultPromptTimeout = 5 * time.Minute
	defaultToolTimeout   = 2 * time.Minute
	defaultIdleTTL       = 10 * time.Minute
	defaultDedupTTL      = 5 * time.Minute
	defaultDeleteGrace   = 5 * time.Second
)

// withDefaults fills in what is zero.
func (p Profile) withDefaults(idleTTL time.Duration) Profile {
	p.MaxIterations = cmp.Or(p.MaxIterations, defaultMaxIterations)
	p.PromptTimeout = cmp.Or(p.PromptTimeout, defaultPromptTimeout)
	p.IdleTTL = cmp.Or(p.IdleTTL, idleTTL)
	p.ToolTimeout = cmp.Or(p.ToolTimeout, defaultToolTimeout)
	p.OnScopeViolation = cmp.Or(p.OnScopeViolation, Fail)
	p.OnToolError = cmp.Or(p.OnToolError, Report)
	p.model = p.Oracle.Name()
	p.ClientTools, _ = plainClientTools("", p.ClientTools) // they were checked
	return p
}

// check returns INVALID_REQUEST naming what is wrong with the profile called name.
func (p Profile) check(name string) error {
	field := "/profiles/" + name
	if p.Oracle == nil {
		return sessions.InvalidField(field+"/oracle", "Profile %q has no oracle.", name)
	}
	if p.MaxIterations < 0 || p.PromptTimeout < 0 || p.IdleTTL < 0 || min(p.ToolTimeout, p.WaitTimeout) < 0 || min(p.Budget.TurnTokens, p.Budget.SessionTokens) < 0 {
		return sessions.InvalidField(field, "Profile %q has a negative limit; use 0 for the default.", name)
	}
	for _, policy := range []FaultPolicy{p.OnScopeViolation, p.OnToolError} {
		if policy != "" && policy != Fail && policy != Report {
			return sessions.InvalidField(field, "Profile %q has the policy %q; use %q or %q.", name, policy, Fail, Report)
		}
	}
	if err := tools.CheckAllowed(p.Tools); err != nil {
		return sessions.InvalidField(field+"/tools", "Profile %q allows a path that is none: %s", name, sessions.AsError(err).Message)
	}
	if err := p.Params.Check(field + "/params"); err != nil {
		return err
	}
	var schema map[string]json.RawMessage
	if len(p.AnswerSchema) > 0 && (json.Unmarshal(p.AnswerSchema, &schema) != nil || schema == nil) {
		return sessions.InvalidField(field+"/answerSchema", "Profile %q has an answer schema that is no JSON object.", name)
	}
	for _, path := range p.Repeatable {
		if _, err := tools.ParsePath(path); err != nil {
			return sessions.InvalidField(field+"/repeatable", "Profile %q calls %q repeatable, which is no path.", name, path)
		}
	}
	return p.checkWaits(name, field)
}

// repeatable reports whether a call of a tool may be run a second time.
func (p Profile) repeatable(m *tools.Mounted) bool {
	return m.Spec.Repeatable || under(m.Path, p.Repeatable)
}

// under reports whether a path lies in one of some subtrees.
func under(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		parsed, err := tools.ParsePath(root)
		return err == nil && tools.Within(path, parsed)
	})
}

// limits returns the bounds of a turn whose request asks for maxIterations and
// timeoutMs, 0 for the profile's. A request may lower them, never raise them.
func (p Profile) limits(maxIterations int, timeoutMs int64) (sessions.TurnLimits, *sessions.Error) {
	limits := sessions.TurnLimits{
		MaxIterations: p.MaxIterations, PromptTimeoutMs: p.PromptTimeout.Milliseconds(), WaitTimeoutMs: p.WaitTimeout.Milliseconds(),
	}
	if maxIterations > limits.MaxIterations {
		return limits, overProfile("maxIterations", int64(limits.MaxIterations))
	}
	if timeoutMs > limits.PromptTimeoutMs {
		return limits, overProfile("promptTimeoutMs", limits.PromptTimeoutMs)
	}
	limits.MaxIterations = cmp.Or(maxIterations, limits.MaxIterations)
	limits.PromptTimeoutMs = cmp.Or(timeoutMs, limits.PromptTimeoutMs)
	return limits, nil
}

// inference returns what a turn asks of models, given what its request asks. The
// schema has the form in which the store gives it back.
func (p Profile) inference(asked sessions.Inference) sessions.Inference {
	schema := asked.AnswerSchema
	if len(schema) == 0 {
		schema = p.AnswerSchema
	}
	if compact, err := canonical(schema); err == nil && len(schema) > 0 {
		schema = compact
	}
	asked.Params, asked.AnswerSchema = asked.Params.Over(p.Params), schema
	asked.ClientTools = p.clientTools(asked.ClientTools)
	return asked
}

func overProfile(name string, max int64) *sessions.Error {
	return sessions.InvalidField("/args/"+name, "The profile allows at most %d here; a request may only lower it.", max).
		With("limit", name).With("max", max)
}
