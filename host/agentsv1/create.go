package agentsv1

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"agenthost/host"
	"agenthost/host/api"
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
	Review             string            `json:"review" strict:"nonempty"`
	VaultIDs           []string          `json:"vault_ids"`
	PromptCacheOptions json.RawMessage   `json:"prompt_cache_options"`
	SpendControl       json.RawMessage   `json:"spend_control"`
}

// streamOptions are taken without effect: no event is padded.
type streamOptions struct {
	IncludeObfuscation *bool `json:"include_obfuscation"`
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

// errUnknownAgent is the answer to an id that no agent of the caller has, be it
// another's or nobody's.
var errUnknownAgent = invalid("agent_id", "This host has no agent of this id.")

// agentFor finds who is to answer: the profile, and the settings of the agent if it is
// a saved one.
func (v *visit) agentFor(b *createBody) (profile string, s settings, err error) {
	model, _ := b.Agent.Model.Value()
	if b.AgentID == "" && model == "" {
		return "", s, invalid("agent.model", "A session needs an agent_id, or an agent with a model.")
	}
	if isSavedAgent(b.AgentID) {
		if profile, s, err = v.savedSettings(b.AgentID); err != nil || model == "" {
			return profile, s, err
		}
	} else if b.AgentID != "" {
		found, known := profileNamed(v.access, b.AgentID)
		switch {
		case !known:
			return "", s, errUnknownAgent
		case model != "" && model != found.Name && model != found.Oracle:
			return "", s, invalid("agent.model", "The agent answers by another model; leave the model out.")
		}
		return found.Name, s, nil
	}
	profile, err = profileOf(v.access, model, "agent.model")
	return profile, s, err
}

// profileOf finds the profile that a model means: the name of a profile, else of an
// oracle. param is where the model was given.
func profileOf(access *host.Access, model, param string) (string, error) {
	var found string
	for _, p := range access.Profiles() {
		if p.Name == model {
			return p.Name, nil
		}
		// Of those with the oracle the default is meant, else the first.
		if p.Oracle == model && (found == "" || p.Name == sessions.DefaultProfile) {
			found = p.Name
		}
	}
	if found == "" {
		return "", invalid(param, "This host has no profile and no oracle of this name.")
	}
	return found, nil
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
	if body.Agent == nil {
		body.Agent = &agentBody{}
	}
	if err := body.check(); err != nil {
		return err
	}
	var content []sessions.Content
	if present(body.Input) {
		if content, err = inputOf(body.Input, "/input"); err != nil {
			return err
		}
	}
	id, turn, err := v.make(&body, content, key, fingerprint("create", object))
	if err != nil {
		return err
	}
	at := api.Address{SessionID: id}
	if !body.Stream {
		return v.getSession(named{at: at})
	}
	s, err := v.session(at)
	if err != nil {
		return err
	}
	return v.streamCreation(s, turn)
}

// checkNames refuses functions that a client could not tell from tools that the host
// names in actions.
func (v *visit) checkNames(tools []functionTool, profile string) error {
	taken := v.access.FunctionNames(profile)
	for _, tool := range tools {
		if taken[tool.Name] {
			return invalid("agent.tools", "The name %s is that of a tool of the host's; choose another.", tool.Name)
		}
	}
	return nil
}

// make makes the session, with a copy of all that is asked of its agent and with its
// input, or finds the one that the same request has made before.
func (v *visit) make(b *createBody, content []sessions.Content, key idempotencyKey, asks [32]byte) (sessions.SessionID, sessions.TurnID, error) {
	if key != "" && isSavedAgent(b.AgentID) {
		// What has become of the agent since is nothing to a repeat.
		if s, turn, found, err := v.access.Claimed(v.ctx(), key.of("create"), asks); found || err != nil {
			return s.ID, turn, err
		}
	}
	profile, inherited, err := v.agentFor(b)
	if err != nil {
		return "", "", err
	}
	asked, err := b.Agent.over(inherited, "/agent")
	if err != nil {
		return "", "", err
	}
	if err := cmp.Or(asked.check("/agent", v.config.Limits), v.checkNames(asked.Tools, profile)); err != nil {
		return "", "", err
	}
	state, err := json.Marshal(asked)
	if err != nil {
		return "", "", err
	}
	args := asked.prompt(api.Address{}, content)
	made := host.NewSession{NewSession: sessions.NewSession{Profile: profile, Labels: b.Metadata,
		State: map[string]json.RawMessage{settingsName: state}}, Asks: args.Inference(), RequestID: key.of("create"), Fingerprint: asks}
	if isSavedAgent(b.AgentID) {
		made.AgentID = sessions.AgentID(b.AgentID)
	}
	if content == nil {
		s, err := v.access.SessionBegin(v.ctx(), made)
		return s.ID, "", err
	}
	begun, err := v.access.SessionBeginWith(v.ctx(), made, args)
	if err != nil {
		return "", "", err
	}
	return begun.SessionID, begun.TurnID, nil
}
