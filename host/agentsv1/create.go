package agentsv1

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// createBody asks for a session.
type createBody struct {
	Environment        json.RawMessage   `json:"environment"`
	AgentID            string            `json:"agent_id"`
	Agent              *agentBody        `json:"agent"`
	Input              json.RawMessage   `json:"input"`
	Metadata           map[string]string `json:"metadata"`
	Stream             bool              `json:"stream"`
	StreamOptions      *streamOptions    `json:"stream_options"`
	Review             string            `json:"review"`
	VaultIDs           []string          `json:"vault_ids"`
	PromptCacheOptions json.RawMessage   `json:"prompt_cache_options"`
	SpendControl       json.RawMessage   `json:"spend_control"`
}

// streamOptions are taken without effect: no event is padded.
type streamOptions struct {
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

// agentBody is what a session asks of its agent.
type agentBody struct {
	Instructions string            `json:"instructions"`
	Model        string            `json:"model"`
	Tools        []json.RawMessage `json:"tools"`
	ServiceTier  string            `json:"service_tier"`
	Reasoning    *reasoningBody    `json:"reasoning"`
	Text         *textBody         `json:"text"`
	MultiAgent   *multiAgentBody   `json:"multi_agent"`
	Compaction   json.RawMessage   `json:"compaction"`
	Experimental json.RawMessage   `json:"experimental"`
}

type reasoningBody struct {
	Effort  sessions.Effort `json:"effort"`
	Summary string          `json:"summary"`
}

type textBody struct {
	Format    *formatBody `json:"format"`
	Verbosity string      `json:"verbosity"`
}

type formatBody struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type multiAgentBody struct {
	Enabled bool   `json:"enabled"`
	Most    *int64 `json:"max_concurrent_subagents"`
}

// toolBody is a function tool.
type toolBody struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Parameters   json.RawMessage `json:"parameters"`
	Async        bool            `json:"async"`
	DeferLoading bool            `json:"defer_loading"`
}

// refuse answers the first parameter that asks for what this host does not have.
func refuse(asked map[string]bool) error {
	for _, param := range slices.Sorted(maps.Keys(asked)) {
		if asked[param] {
			return invalid(param, "This host does not offer %s; leave it out.", param)
		}
	}
	return nil
}

// check refuses what can be seen to be wrong, or is not offered.
func (b *createBody) check() error {
	if !present(b.Environment) {
		return invalid("environment", "A session needs an environment; this host offers the type none.")
	}
	var environment struct {
		Type string `json:"type"`
	}
	// Others have members of their own, which are of no account here.
	if err := json.Unmarshal(b.Environment, &environment); err != nil || environment.Type != "none" {
		return invalid("environment.type", "This host offers the environment none only.")
	}
	if err := decode(b.Environment, "/environment", &environment); err != nil {
		return err
	}
	if b.StreamOptions != nil && !b.Stream {
		return invalid("stream_options", "stream_options are only for a stream.")
	}
	if b.Stream && !present(b.Input) {
		return invalid("input", "A stream needs an input to be answered.")
	}
	if err := refuse(map[string]bool{
		"review": b.Review != "" && b.Review != "none", "vault_ids": len(b.VaultIDs) > 0,
		"prompt_cache_options": present(b.PromptCacheOptions), "spend_control": present(b.SpendControl),
	}); err != nil {
		return err
	}
	return checkMetadata(b.Metadata)
}

// Bounds of metadata, in characters.
const (
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

func checkMetadata(metadata map[string]string) error {
	if len(metadata) > maxMetadata {
		return invalid("metadata", "Metadata has at most %d pairs; these are %d.", maxMetadata, len(metadata))
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if n := utf8.RuneCountInString(key); n < 1 || n > maxMetadataKey || slices.Contains([]byte(key), 0) {
			return invalid("metadata", "A key of metadata has 1 to %d characters.", maxMetadataKey)
		}
		if utf8.RuneCountInString(metadata[key]) > maxMetadataValue {
			return invalid("metadata", "A value of metadata has at most %d characters.", maxMetadataValue)
		}
	}
	return nil
}

// settings returns what the agent is asked for beyond its profile.
func (a *agentBody) settings() (s settings, err error) {
	if a == nil {
		return s, nil
	}
	s = settings{Model: a.Model, Instructions: a.Instructions}
	if err := a.refuse(); err != nil {
		return s, err
	}
	if a.Reasoning != nil {
		s.Effort = a.Reasoning.Effort
		if err := (sessions.Params{Effort: s.Effort}).Check("/agent/reasoning"); err != nil {
			return s, err
		}
	}
	if a.Text != nil && a.Text.Format != nil && a.Text.Format.Type == "json_schema" {
		s.Schema = a.Text.Format.Schema
		if err := checkObject(s.Schema, "agent.text.format.schema"); err != nil {
			return s, err
		}
	}
	seen := map[string]bool{}
	for i, raw := range a.Tools {
		at := strictjson.PointerAt("/agent/tools", i)
		tool, err := functionOf(raw, at)
		if err != nil {
			return s, err
		}
		if seen[tool.Name] {
			return s, invalid(dotted(at+"/name"), "Two tools have this name.")
		}
		seen[tool.Name] = true
		s.Tools = append(s.Tools, tool)
	}
	return s, nil
}

// refuse refuses what this host has no way to do.
func (a *agentBody) refuse() error {
	return refuse(map[string]bool{
		"agent.service_tier":      a.ServiceTier != "" && a.ServiceTier != "auto" && a.ServiceTier != "default",
		"agent.reasoning.summary": a.Reasoning != nil && a.Reasoning.Summary != "",
		"agent.text.verbosity":    a.Text != nil && a.Text.Verbosity != "" && a.Text.Verbosity != "medium",
		"agent.text.format.type":  a.Text != nil && a.Text.Format != nil && a.Text.Format.Type != "text" && a.Text.Format.Type != "json_schema",
		"agent.multi_agent":       a.MultiAgent != nil && a.MultiAgent.Enabled,
		"agent.compaction":        present(a.Compaction),
		"agent.experimental":      present(a.Experimental),
	})
}

// maxToolName is the longest name of a function, in characters.
const maxToolName = 64

func functionOf(raw json.RawMessage, at string) (functionTool, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &kind) != nil || kind.Type != "function" {
		return functionTool{}, invalid(dotted(at+"/type"), "This host offers tools of the type function only.")
	}
	var tool toolBody
	if err := decode(raw, at, &tool); err != nil {
		return functionTool{}, err
	}
	if tool.Async || tool.DeferLoading {
		return functionTool{}, invalid(dotted(at), "This host offers neither async nor defer_loading; leave them out.")
	}
	if !isFunctionName(tool.Name) {
		return functionTool{}, invalid(dotted(at+"/name"), "A function's name is 1 to %d of letters, digits, _ and -.", maxToolName)
	}
	if err := checkObject(tool.Parameters, dotted(at+"/parameters")); err != nil {
		return functionTool{}, err
	}
	return functionTool{tool.Name, tool.Description, tool.Parameters}, nil
}

func isFunctionName(name string) bool {
	for _, r := range name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return name != "" && len(name) <= maxToolName
}

// checkObject refuses a schema that is no JSON object.
func checkObject(raw json.RawMessage, param string) error {
	if len(raw) == 0 || raw[0] != '{' {
		return invalid(param, "A schema is a JSON object.")
	}
	return nil
}

// profile finds the profile that answers: by its name, or by a model, which is the
// name of a profile or of an oracle.
func (b *createBody) profile(access *host.Access) (host.ProfileInfo, error) {
	var model string
	if b.Agent != nil {
		model = b.Agent.Model
	}
	if b.AgentID == "" && model == "" {
		return host.ProfileInfo{}, invalid("agent.model", "A session needs an agent_id, or an agent with a model.")
	}
	var found *host.ProfileInfo
	for _, p := range access.Profiles() {
		if b.AgentID != "" && p.Name != b.AgentID || model != "" && p.Name != model && p.Oracle != model {
			continue
		}
		// A profile of that very name is meant before others with its oracle; then the default.
		if found == nil || p.Name == model || p.Name == sessions.DefaultProfile && found.Name != model {
			found = &p
		}
	}
	if found == nil {
		return host.ProfileInfo{}, b.noProfile(access, model)
	}
	return *found, nil
}

// noProfile says why no profile is meant.
func (b *createBody) noProfile(access *host.Access, model string) error {
	switch _, known := profileNamed(access, b.AgentID); {
	case b.AgentID == "":
		return invalid("agent.model", "This host has no profile and no oracle of this name.")
	case known && model != "":
		return invalid("agent.model", "The agent answers by another model; leave the model out.")
	}
	return invalid("agent_id", "This host has no agent of this id.")
}

// createSession makes a session and begins its first turn.
func (v *visit) createSession(named) error {
	object, err := v.body()
	if err != nil {
		return err
	}
	key, err := v.idempotencyKey()
	if err != nil {
		return err
	}
	var body createBody
	if err := decode(object, "", &body); err != nil {
		return err
	}
	if err := body.check(); err != nil {
		return err
	}
	profile, err := body.profile(v.access)
	if err != nil {
		return err
	}
	asked, err := body.Agent.settings()
	if err != nil {
		return err
	}
	var content []sessions.Content
	if present(body.Input) {
		if content, err = inputOf(body.Input, "/input"); err != nil {
			return err
		}
		args := asked.prompt(api.Address{SessionID: "new"}, content)
		if err := args.Validate(v.config.Limits); err != nil {
			return err
		}
	}
	state, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	return v.begin(host.NewSession{Profile: profile.Name, Labels: body.Metadata, State: map[string]json.RawMessage{settingsName: state},
		RequestID: key.of("create"), Fingerprint: fingerprint("create", object)}, asked, content, body.Stream, key)
}

// begin makes the session, sends its input, and answers. A repeat that comes after
// the session was made and before its input was accepted sends the input.
func (v *visit) begin(n host.NewSession, asked settings, content []sessions.Content, stream bool, key idempotencyKey) error {
	s, created, err := v.access.SessionBegin(v.ctx(), n)
	if err != nil {
		return err
	}
	at := api.Address{SessionID: s.ID}
	var turn sessions.TurnID
	if content != nil {
		args := asked.prompt(at, content)
		args.RequestID = key.of("input")
		got, err := v.access.Prompt(v.ctx(), &args, nil)
		if err != nil {
			if created && key == "" { // nobody can come back to it
				_, _ = v.access.SessionDelete(v.ctx(), &api.SessionDeleteArgs{Address: at, OnlySettled: true}) // the refusal is what counts
			}
			return err
		}
		turn = got.TurnID
	}
	if stream {
		return v.streamCreation(s, turn)
	}
	return v.getSession(named{at: at})
}
