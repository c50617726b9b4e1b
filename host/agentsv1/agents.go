package agentsv1

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"

	"agenthost/sessions"
)

// agentListed is a saved agent, or a profile of the host, as this API shows it.
type agentListed struct {
	agentView
	Object    string            `json:"object"`
	CreatedAt int64             `json:"created_at"`
	UpdatedAt int64             `json:"updated_at"`
	Metadata  map[string]string `json:"metadata"`
}

func (a agentListed) id() string { return a.ID }

// savedAgentID is how ids of saved agents look. No other is looked for in the store.
var savedAgentID = regexp.MustCompile("^agent_[0-9a-f]{32}$")

func isSavedAgent(id string) bool { return savedAgentID.MatchString(id) }

// profileAgents returns the host's profiles as agents, in the order of their names.
func (v *visit) profileAgents() (all []agentListed) {
	started := unix(v.access.Started())
	for _, p := range v.access.Profiles() {
		all = append(all, agentListed{agentView: viewProfile(p), Object: "agent", CreatedAt: started, UpdatedAt: started, Metadata: map[string]string{}})
	}
	return all
}

// viewSaved returns a saved agent as this API shows it. Its instructions are those
// that it was given, and not the profile's, so that who writes back what was read
// changes nothing.
func (v *visit) viewSaved(a sessions.SavedAgent) (agentListed, error) {
	var asked settings
	if err := json.Unmarshal(a.Settings, &asked); err != nil {
		return agentListed{}, err
	}
	view := agentListed{agentView: viewAgent(v.access, a.Profile, asked), Object: "agent",
		CreatedAt: unix(a.CreatedAt), UpdatedAt: unix(a.UpdatedAt), Metadata: a.Metadata}
	view.as(a.ID, a.Name)
	view.Instructions = asked.Instructions
	return view, nil
}

func (v *visit) replySaved(a sessions.SavedAgent, err error) error {
	if err != nil {
		return err
	}
	view, err := v.viewSaved(a)
	if err != nil {
		return err
	}
	return v.reply(view)
}

// listAgents lists the caller's saved agents and the profiles as one list, in which
// the profiles are the oldest. after may name a saved agent that is gone.
func (v *visit) listAgents(named) error {
	q, err := v.page()
	if err != nil {
		return err
	}
	profiles := v.profileAgents()
	if !q.ascending {
		slices.Reverse(profiles)
	}
	saved := sessions.AgentQuery{Ascending: q.ascending, Limit: q.limit + 1}
	at := slices.IndexFunc(profiles, func(p agentListed) bool { return p.ID == q.after })
	switch {
	case q.after == "":
	case at >= 0:
		if profiles = profiles[at+1:]; !q.ascending {
			saved.Limit = 0
		}
	case isSavedAgent(q.after):
		if saved.After = sessions.AgentID(q.after); q.ascending {
			profiles = nil
		}
	default:
		return unknownAfter()
	}
	all, full, err := v.savedAgents(saved)
	switch {
	case err != nil:
		return err
	case q.ascending:
		all = append(profiles, all...)
	case !full:
		all = append(all, profiles...)
	}
	return v.reply(listOf(all[:min(q.limit, len(all))], full || len(all) > q.limit))
}

// agentsAtOnce is how many agents are read of the store at a time.
const agentsAtOnce = 10

// savedAgents reads saved agents for a page; full says that it has no room for more.
func (v *visit) savedAgents(q sessions.AgentQuery) (all []agentListed, full bool, err error) {
	var size int64
	for want := q.Limit; len(all) < want; {
		q.Limit = min(want-len(all), agentsAtOnce)
		found, err := v.access.AgentList(v.ctx(), q)
		if err != nil {
			return nil, false, err
		}
		for _, a := range found {
			view, err := v.viewSaved(a)
			if err != nil {
				return nil, false, err
			}
			q.After, all = a.ID, append(all, view)
			if size += view.bytes(); size > v.pageBytes() {
				return all, true, nil
			}
		}
		if len(found) < q.Limit {
			break
		}
	}
	return all, false, nil
}

func (v *visit) getAgent(n named) error {
	if isSavedAgent(n.agent) {
		return v.replySaved(v.access.AgentGet(v.ctx(), sessions.AgentID(n.agent)))
	}
	for _, p := range v.profileAgents() {
		if p.ID == n.agent {
			return v.reply(p)
		}
	}
	return notFound()
}

// savedSettings returns the profile of a saved agent, and what it asks for.
func (v *visit) savedSettings(id string) (profile string, s settings, err error) {
	a, err := v.access.AgentGet(v.ctx(), sessions.AgentID(id))
	if errors.Is(err, sessions.ErrNoAgent) {
		return "", s, errUnknownAgent
	}
	if err == nil {
		err = json.Unmarshal(a.Settings, &s)
	}
	s.Name = a.Name
	return a.Profile, s, err
}
