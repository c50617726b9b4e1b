package host

import (
	"maps"
	"slices"

	"agenthost/sessions"
)

// ProfileInfo describes a profile to clients.
type ProfileInfo struct {
	Name   string
	Oracle string // its name
	System string // the system prompt, "" to other than an admin
	// Params and AnswerSchema are those of turns that ask for none.
	Inference sessions.Inference
}

// Profiles describes the host's profiles, in the order of their names. What their
// models are told is the affair of who runs the host, and for admins only.
func (a *Access) Profiles() []ProfileInfo {
	var all []ProfileInfo
	for _, name := range slices.Sorted(maps.Keys(a.host.profiles)) {
		p := a.host.profiles[name]
		info := ProfileInfo{Name: name, Oracle: p.Oracle.Name(), Inference: sessions.Inference{Params: p.Params, AnswerSchema: p.AnswerSchema}}
		if a.caller.Admin {
			info.System = p.System
		}
		all = append(all, info)
	}
	return all
}

// Started is when the host was made.
func (a *Access) Started() sessions.Time { return a.host.started }
