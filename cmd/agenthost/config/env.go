package config

import (
	"maps"
	"slices"
	"strings"
)

const envPrefix = "AGENTHOST_"

// Variables with the prefix that configure no host: where a client finds one,
// and the file this package reads.
const (
	envURL  = envPrefix + "URL"
	envKey  = envPrefix + "KEY"
	envFile = envPrefix + "CONFIG"
)

// environment is the process's environment by name.
type environment map[string]string

func newEnvironment(pairs []string) environment {
	env := environment{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

// ours reports whether the variable is to be a setting. A cluster that runs a
// service called agenthost sets AGENTHOST_PORT and AGENTHOST_SERVICE_… in every
// container; those are none of ours. An empty variable counts as unset.
func (env environment) ours(variable string) bool {
	rest, ok := strings.CutPrefix(variable, envPrefix)
	if !ok || env[variable] == "" || variable == envURL || variable == envKey || variable == envFile {
		return false
	}
	return rest != "PORT" && !strings.HasPrefix(rest, "PORT_") && !strings.HasPrefix(rest, "SERVICE_")
}

// readEnvironment reads the environment's layer. file tells which oracles and
// profiles a name in capitals may mean.
func readEnvironment(env environment, file *layer) (*layer, error) {
	l := newLayer(SourceEnv)
	for _, variable := range slices.Sorted(maps.Keys(env)) {
		if !env.ours(variable) {
			continue
		}
		k, err := keyOfVariable(variable, file)
		if err != nil {
			return nil, err
		}
		if err := l.add(k, variable, func(f form) (any, string) { return f.fromText(env[variable]) }); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// keyOfVariable finds the setting a variable means: AGENTHOST_IDLE_TTL,
// AGENTHOST_LIMITS_MESSAGE_BYTES, AGENTHOST_PROFILES_DEFAULT_SYSTEM.
func keyOfVariable(variable string, file *layer) (key, error) {
	rest := strings.TrimPrefix(variable, envPrefix)
	for _, section := range namedSections {
		if inner, ok := strings.CutPrefix(rest, environmentName(section)+"_"); ok {
			return keyOfNamed(variable, section, inner, file)
		}
	}
	for _, s := range settings {
		if !named(s.section) && rest == variableOf(s) {
			return key{section: s.section, field: s.field}, nil
		}
	}
	return key{}, unknownVariable(variable)
}

// keyOfNamed finds the setting in NAME_FIELD. The longest field wins, since
// names may hold underscores too.
func keyOfNamed(variable, section, inner string, file *layer) (key, error) {
	found, longest := key{}, ""
	for _, field := range fieldsOf(section) {
		suffix := "_" + environmentName(field)
		name, ok := strings.CutSuffix(inner, suffix)
		if ok && name != "" && len(suffix) > len(longest) {
			found, longest = key{section: section, name: name, field: field}, suffix
		}
	}
	if longest == "" {
		return key{}, problem(variable, "a variable for %s is written %s%s_NAME_SETTING, with one of the settings %s.",
			section, envPrefix, environmentName(section), strings.Join(fieldsOf(section), ", "))
	}
	name, err := nameInFile(variable, section, found.name, file)
	found.name = name
	return found, err
}

// nameInFile returns the name in the file that is written like this in the
// environment, or the name in small letters if there is none.
func nameInFile(variable, section, inCapitals string, file *layer) (string, error) {
	like := func(name string) bool { return environmentName(name) == inCapitals }
	names := slices.DeleteFunc(slices.Clone(file.names[section]), func(name string) bool { return !like(name) })
	switch len(names) {
	case 0:
		return strings.ToLower(inCapitals), nil
	case 1:
		return names[0], nil
	default:
		return "", problem(variable, "the variable could mean any of the %s %s; use the file or a flag.", section, strings.Join(names, ", "))
	}
}

// variableOf is the variable's name for a setting outside the named sections,
// without the prefix.
func variableOf(s setting) string {
	if s.section == "" {
		return environmentName(s.field)
	}
	return environmentName(s.section) + "_" + environmentName(s.field)
}

func unknownVariable(variable string) error {
	var known []string
	for _, s := range settings {
		if !named(s.section) {
			known = append(known, envPrefix+variableOf(s))
		}
	}
	return problem(variable, "there is no setting of this name; the nearest is %s.", nearest(variable, known))
}
