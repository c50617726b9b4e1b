package config

import (
	"slices"
	"strings"

	"agenthost/sessions"
)

// mainOracle is the oracle that profiles mean when there are several and they
// name none.
const mainOracle = "main"

// readDefaults makes the layers below all others: the defaults, and what the
// environment offers to a host without oracles. They depend on the layers above,
// which say which profiles there are to fill in.
func readDefaults(env environment, above layers) (below layers, picked string, err error) {
	defaults, found := newLayer(SourceDefault), newLayer(SourceEnv)
	for _, s := range settings {
		if !named(s.section) {
			defaults.set(key{section: s.section, field: s.field}, s.fallback)
		}
	}
	if len(above.names(sectionOracles)) == 0 {
		if picked, err = pickOracle(env, defaults, found); err != nil {
			return nil, "", err
		}
	}
	if len(above.names(sectionProfiles)) == 0 {
		defaults.names[sectionProfiles] = []string{sessions.DefaultProfile}
	}
	below = layers{defaults, found}
	all := slices.Concat(below, above)
	for _, remote := range all.names(sectionRemotes) {
		defaults.fill(sectionRemotes, remote)
	}
	for _, server := range all.names(sectionMCP) {
		defaults.fillMCP(server)
	}
	for _, profile := range all.names(sectionProfiles) {
		if err := defaults.fillProfile(profile, all); err != nil {
			return nil, "", err
		}
	}
	return below, picked, nil
}

// fill sets the defaults of one entry of a section.
func (l *layer) fill(section, name string) {
	for _, s := range settings {
		if s.section == section && s.fallback != nil {
			l.set(key{section, name, s.field}, s.fallback)
		}
	}
}

func (l *layer) fillProfile(profile string, all layers) error {
	l.fill(sectionProfiles, profile)
	idle, _, _ := all.get(key{field: "idleTTL"})
	l.set(key{sectionProfiles, profile, "idleTTL"}, idle.value)
	at := key{sectionProfiles, profile, "oracle"}
	if _, _, given := all.get(at); given {
		return nil
	}
	oracles := all.names(sectionOracles)
	switch {
	case len(oracles) == 1:
		l.set(at, oracles[0])
	case slices.Contains(oracles, mainOracle):
		l.set(at, mainOracle)
	default:
		return problem(at.String(), "there are several oracles, and none is called %s; name one of %s.", mainOracle, strings.Join(oracles, ", "))
	}
	return nil
}
