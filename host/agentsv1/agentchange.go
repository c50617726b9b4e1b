package agentsv1

import (
	"encoding/json"
	"errors"
	"strings"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// savedBody is a saved agent to be made, or what is to be changed of one.
type savedBody struct {
	agentBody
	Name     api.Nullable[string]            `json:"name"`
	Metadata api.Nullable[map[string]string] `json:"metadata"`
}

func (v *visit) savedBody() (object json.RawMessage, body savedBody, err error) {
	if object, err = v.body(); err != nil {
		return nil, body, err
	}
	if err := decode(object, "", &body); err != nil {
		return nil, body, err
	}
	metadata, _ := body.Metadata.Value()
	if model, ok := body.Model.Value(); body.Model.IsNull() || ok && model == "" {
		return nil, body, invalid("model", "An agent needs a model, the name of a profile or of an oracle.")
	}
	return object, body, checkMetadata(metadata)
}

// change puts what the body asks for in the place of what an agent has.
func (v *visit) change(a *sessions.SavedAgent, body savedBody) error {
	before := settings{}
	if a.Settings != nil {
		if err := json.Unmarshal(a.Settings, &before); err != nil {
			return err
		}
	}
	asked, err := body.over(before, "")
	if err != nil {
		return err
	}
	if err := asked.check("", v.config.Limits); err != nil {
		return err
	}
	if model, ok := body.Model.Value(); ok {
		if a.Profile, err = profileOf(v.access, model, "model"); err != nil {
			return err
		}
	}
	if err := v.checkAsked(a.Profile, asked); err != nil {
		return err
	}
	if !body.Name.IsZero() {
		a.Name, _ = body.Name.Value()
	}
	if !body.Metadata.IsZero() {
		a.Metadata, _ = body.Metadata.Value()
	}
	asked.Name = a.Name // so that what bounds the settings bounds those of a session too
	a.Settings, err = json.Marshal(asked)
	return err
}

// checkAsked refuses what no prompt to a session of the agent could ask for, unless
// its profile is gone: an agent may stay without one.
func (v *visit) checkAsked(profile string, asked settings) error {
	if _, known := profileNamed(v.access, profile); !known {
		return nil
	}
	args := asked.prompt(api.Address{}, nil)
	err := v.access.CheckAsked(profile, args.Inference())
	if err == nil {
		return nil
	}
	p := problemOf(err)
	if p.Param != nil {
		p.Param = new(strings.TrimPrefix(*p.Param, "agent."))
	}
	return p
}

func (v *visit) createAgent(named) error {
	object, body, err := v.savedBody()
	if err != nil {
		return err
	}
	key, err := v.idempotencyKey()
	if err != nil {
		return err
	}
	if body.Model.IsZero() {
		return invalid("model", "An agent needs a model, the name of a profile or of an oracle.")
	}
	var a sessions.SavedAgent
	if err := v.change(&a, body); err != nil {
		return err
	}
	made, err := v.access.AgentCreate(v.ctx(), host.NewAgent{Name: a.Name, Profile: a.Profile, Settings: a.Settings, Metadata: a.Metadata,
		RequestID: key.of("agent"), Fingerprint: fingerprint("agent", object)})
	if e, ok := errors.AsType[*sessions.Error](err); ok && e.Details["limit"] == "savedAgents" {
		return invalid("", "%s", e.Message) // it is not this body that is too large
	}
	return v.replySaved(made, err)
}

func (v *visit) updateAgent(n named) error {
	if err := v.changeable(n); err != nil {
		return err
	}
	_, body, err := v.savedBody()
	if err != nil {
		return err
	}
	return v.replySaved(v.access.AgentUpdate(v.ctx(), sessions.AgentID(n.agent), func(a *sessions.SavedAgent) error { return v.change(a, body) }))
}

func (v *visit) deleteAgent(n named) error {
	if err := v.changeable(n); err != nil {
		return err
	}
	if err := v.access.AgentDelete(v.ctx(), sessions.AgentID(n.agent)); err != nil {
		return err
	}
	return v.reply(deletedView{n.agent, "agent.deleted", true})
}

// changeable refuses an agent that is a profile, or that nobody has.
func (v *visit) changeable(n named) error {
	if isSavedAgent(n.agent) {
		return nil
	}
	if _, ok := profileNamed(v.access, n.agent); !ok {
		return notFound()
	}
	return invalid("", "This agent is a profile of the host's configuration; it is changed and removed there.")
}
