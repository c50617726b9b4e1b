package config

import "agenthost/tools"

// resolve checks a remote and fills in the key that it refers to.
func (r *Remote) resolve(name string, env environment) error {
	at := key{section: sectionRemotes, field: name}.String()
	if r.URL == "" {
		return problem(at, "a remote needs the url of its host.")
	}
	if _, err := tools.ParsePath(name); err != nil {
		return problem(at, "the name is part of a tool's path, and this one cannot be: %s", err)
	}
	for _, profile := range r.Profiles {
		if _, err := tools.ParsePath(profile); err != nil {
			return problem(at+".profiles", "the profile %q is part of a tool's path, and this one cannot be: %s", profile, err)
		}
	}
	if r.KeyEnv == "" {
		return nil
	}
	if r.Key = Secret(env[r.KeyEnv]); r.Key == "" {
		return problem(at+".keyEnv", "the environment variable %s is not set.", r.KeyEnv)
	}
	return nil
}
