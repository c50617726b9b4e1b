package agentsv1

import (
	"agenthost/host"
)

// savedAgent is a profile of the host as this API shows it.
type savedAgent struct {
	agentView
	Object    string            `json:"object"`
	CreatedAt int64             `json:"created_at"`
	UpdatedAt int64             `json:"updated_at"`
	Metadata  map[string]string `json:"metadata"`
}

func (a savedAgent) id() string { return a.ID }

func (v *visit) savedAgents() (all []savedAgent) {
	started := unix(v.access.Started())
	for _, p := range v.access.Profiles() {
		all = append(all, v.savedAgent(p, started))
	}
	return all
}

func (v *visit) savedAgent(p host.ProfileInfo, started int64) savedAgent {
	return savedAgent{agentView: viewProfile(p), Object: "agent", CreatedAt: started, UpdatedAt: started, Metadata: map[string]string{}}
}

func (v *visit) listAgents(named) error {
	q, _, err := v.page()
	if err != nil {
		return err
	}
	page, err := behind(q, v.savedAgents())
	if err != nil {
		return err
	}
	return v.reply(page)
}

func (v *visit) getAgent(n named) error {
	p, ok := profileNamed(v.access, n.agent)
	if !ok {
		return notFound()
	}
	return v.reply(v.savedAgent(p, unix(v.access.Started())))
}

// createAgent says why there can be no new one.
func (v *visit) createAgent(named) error {
	if _, err := v.body(); err != nil {
		return err
	}
	return invalid("", "The agents of this host are the profiles of its configuration; add one there and restart the host.")
}

// changeAgent says why an agent cannot be changed or deleted.
func (v *visit) changeAgent(n named) error {
	if _, ok := profileNamed(v.access, n.agent); !ok {
		return notFound()
	}
	return invalid("", "The agents of this host are the profiles of its configuration; change or remove this one there and restart the host.")
}
