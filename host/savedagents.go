package host

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"agenthost/host/api"
	"agenthost/sessions"
)

// agentPrefix begins every id of a saved agent.
const agentPrefix = "agent_"

// newAgentID returns an id that is greater than those before it.
func newAgentID() sessions.AgentID {
	id := uuid.Must(uuid.NewV7())
	return sessions.AgentID(agentPrefix + hex.EncodeToString(id[:]))
}

// NewAgent is an agent to be saved under an id of the host's.
type NewAgent struct {
	Name        string // "" for none
	Profile     string
	Settings    json.RawMessage
	Metadata    map[string]string  // its bounds are the caller's affair
	RequestID   sessions.RequestID // "" when the request is never repeated
	Fingerprint [32]byte           // digest of all that is asked
}

// AgentCreate saves an agent of the caller's. A repeat of the request returns the one
// there is. PAYLOAD_TOO_LARGE for more than the limits savedAgents, titleBytes and
// stateBytes allow.
func (a *Access) AgentCreate(ctx context.Context, n NewAgent) (sessions.SavedAgent, error) {
	if err := a.check(&api.SessionCreateArgs{RequestID: n.RequestID}); err != nil {
		return sessions.SavedAgent{}, err
	}
	agent := sessions.SavedAgent{ID: newAgentID(), Owner: a.caller.Owner, Name: n.Name, Profile: n.Profile,
		Settings: n.Settings, Metadata: n.Metadata, CreatedAt: a.now()}
	if err := cmp.Or(a.checkAgent(agent), a.knownProfile(agent.Profile)); err != nil {
		return sessions.SavedAgent{}, err
	}
	made, err := a.host.store.CreateAgent(ctx, sessions.CreateAgent{
		Agent: agent, Most: a.host.config.Limits.SavedAgents, Request: a.request(n.RequestID, n.Fingerprint)})
	return made.Agent, err
}

// checkAgent bounds what is saved, so that sessions can be made from it.
func (a *Access) checkAgent(agent sessions.SavedAgent) error {
	limits := a.host.config.Limits
	if len(agent.Name) > limits.TitleBytes {
		return sessions.TooLarge("titleBytes", int64(limits.TitleBytes), "The agent's name has %d bytes, more than the limit of %d.",
			len(agent.Name), limits.TitleBytes).With("field", "/name")
	}
	if size := int64(len(agent.Settings)); size > limits.StateBytes {
		return sessions.TooLarge("stateBytes", limits.StateBytes, "The agent's settings have %d bytes, more than the limit of %d.", size, limits.StateBytes)
	}
	return nil
}

// CheckAsked returns INVALID_REQUEST when a prompt to a session of the profile could
// not ask this of models now, and UNKNOWN_PROFILE when there is no such profile.
func (a *Access) CheckAsked(profile string, asked sessions.Inference) error {
	return a.host.system.CheckInference(profile, asked)
}

// AgentGet returns a saved agent of the caller's, else sessions.ErrNoAgent.
func (a *Access) AgentGet(ctx context.Context, id sessions.AgentID) (sessions.SavedAgent, error) {
	return a.host.store.Agent(ctx, a.caller.Owner, id)
}

// AgentList returns saved agents of the caller's, in the order of their ids, which
// is that of their creation.
func (a *Access) AgentList(ctx context.Context, q sessions.AgentQuery) ([]sessions.SavedAgent, error) {
	q.Owner = a.caller.Owner
	return a.host.store.Agents(ctx, q)
}

// AgentUpdate stores a saved agent of the caller's as change makes it, with bounds as
// those of AgentCreate; sessions.ErrNoAgent when there is none. When another update
// comes first, change is called again, with what that has stored.
func (a *Access) AgentUpdate(ctx context.Context, id sessions.AgentID, change func(*sessions.SavedAgent) error) (sessions.SavedAgent, error) {
	for {
		agent, err := a.AgentGet(ctx, id)
		before := agent.Profile
		if err == nil {
			err = change(&agent)
		}
		if err == nil {
			err = a.checkAgent(agent)
		}
		if err == nil && agent.Profile != before { // one that is gone may stay as it is
			err = a.knownProfile(agent.Profile)
		}
		if err != nil {
			return sessions.SavedAgent{}, err
		}
		agent.UpdatedAt = max(agent.UpdatedAt, a.now()) // the clock may have been set back
		changed, err := a.host.store.UpdateAgent(ctx, agent)
		if !errors.Is(err, sessions.ErrAgentChanged) {
			return changed, err
		}
	}
}

// AgentDelete removes a saved agent of the caller's. What was made from it stays as
// it is. To repeat it is no error; sessions.ErrNoAgent when there never was one.
func (a *Access) AgentDelete(ctx context.Context, id sessions.AgentID) error {
	return a.host.store.DeleteAgent(ctx, sessions.DeleteAgent{
		Owner: a.caller.Owner, ID: id, TombstoneMs: a.host.system.TombstoneMs(), Now: a.now()})
}
