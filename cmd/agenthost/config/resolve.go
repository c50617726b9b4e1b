package config

import (
	"maps"
	"os"
	"slices"
	"strings"

	"agenthost/sessions"
)

const schemeSQLite = "sqlite"

// DatabasePath is the path of the SQLite database.
func (c *Config) DatabasePath() string { return strings.TrimPrefix(c.Store, schemeSQLite+":") }

// resolve checks what takes more than one value to see, and reads the secrets.
func (c *Config) resolve(env environment) error {
	c.Tracing.resolve(env)
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return problem(sectionTLS, "cert and key go together; give both or neither.")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Oracles)) {
		o := c.Oracles[name]
		at := key{section: sectionOracles, field: name}.String()
		if err := o.check(at); err != nil {
			return err
		}
		if err := o.readKey(at, env); err != nil {
			return err
		}
		c.Oracles[name] = o
	}
	for _, name := range slices.Sorted(maps.Keys(c.Remotes)) {
		r := c.Remotes[name]
		if err := r.resolve(name, env); err != nil {
			return err
		}
		c.Remotes[name] = r
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		s := c.MCP[name]
		if err := s.resolve(name, env); err != nil {
			return err
		}
		c.MCP[name] = s
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		o, ok := c.Oracles[p.Oracle]
		if !ok {
			return problem("profiles."+name+".oracle", "no oracle is called %q; there are %s.",
				p.Oracle, strings.Join(slices.Sorted(maps.Keys(c.Oracles)), ", "))
		}
		if err := p.checkParams("profiles."+name+".params", o.Provider); err != nil {
			return err
		}
	}
	return nil
}

// checkParams refuses parameters that no model of the provider would heed.
func (p Profile) checkParams(at string, provider Provider) error {
	if err := p.Params.Check(""); err != nil {
		return problem(at, "%s", sessions.AsError(err).Message)
	}
	if provider == ProviderAnthropic && (p.Params.Temperature != nil || p.Params.TopP != nil || p.Params.Seed != nil) {
		return problem(at, "the provider anthropic has no temperature, no topP and no seed.")
	}
	return nil
}

// check refuses an oracle that lacks what its provider needs, or has what its
// provider would ignore.
func (o Oracle) check(at string) error {
	if o.Provider == "" {
		return problem(at, "an oracle needs a provider: openai, anthropic, offline or scripted.")
	}
	asks := o.Provider == ProviderOpenAI || o.Provider == ProviderAnthropic
	model := []string{o.Model, o.BaseURL, o.APIKeyEnv, o.APIKeyFile}
	usesModel := slices.ContainsFunc(model, func(value string) bool { return value != "" })
	switch {
	case !asks && usesModel:
		return problem(at, "model, baseURL, apiKeyEnv and apiKeyFile are for the providers openai and anthropic only.")
	case o.Provider != ProviderScripted && o.File != "":
		return problem(at, "file is for the provider scripted only.")
	case o.Provider == ProviderScripted && o.File == "":
		return problem(at, "the provider scripted needs file, the script it plays.")
	case asks && o.Model == "":
		return problem(at, "the provider %s needs model.", o.Provider)
	case o.APIKeyEnv != "" && o.APIKeyFile != "":
		return problem(at, "give apiKeyEnv or apiKeyFile, not both.")
	case asks && o.BaseURL == "" && o.APIKeyEnv == "" && o.APIKeyFile == "":
		return problem(at, "the provider %s needs apiKeyEnv or apiKeyFile, unless baseURL names a server that asks for no key.", o.Provider)
	}
	return nil
}

// readKey fills in the key that the oracle refers to.
func (o *Oracle) readKey(at string, env environment) error {
	switch {
	case o.APIKeyEnv != "":
		o.APIKey = Secret(env[o.APIKeyEnv])
		if o.APIKey == "" {
			return problem(at+".apiKeyEnv", "the environment variable %s is not set.", o.APIKeyEnv)
		}
	case o.APIKeyFile != "":
		text, err := os.ReadFile(o.APIKeyFile)
		if err != nil {
			return problem(at+".apiKeyFile", "the file %s cannot be read.", o.APIKeyFile).Because(err)
		}
		o.APIKey = Secret(strings.TrimSpace(string(text)))
		if o.APIKey == "" {
			return problem(at+".apiKeyFile", "the file %s is empty.", o.APIKeyFile)
		}
	}
	return nil
}
