package config

import (
	"net"
	"net/url"
	"strings"
)

// Models asked for when the environment names a provider but no model.
const (
	openaiModel    = "gpt-5-mini"
	anthropicModel = "claude-haiku-5-5"
	ollamaModel    = "llama3.2"
)

// pickOracle chooses the oracle of a host that configures none, by what the
// environment offers. What the environment says goes into the layer found, the
// rest into defaults. It returns the oracle's name.
func pickOracle(env environment, defaults, found *layer) (string, error) {
	var name string
	var wrong error
	take := func(field, value, origin string) {
		k := key{sectionOracles, name, field}
		if origin == "" {
			defaults.set(k, value)
			return
		}
		err := found.add(k, origin, func(f form) (any, string) { return f.fromText(value) })
		if wrong == nil {
			wrong = err
		}
	}
	takeModel := func(variable, fallback string) {
		if model := env[variable]; model != "" {
			take("model", model, variable)
			return
		}
		take("model", fallback, "")
	}
	takeKeyed := func(provider Provider, prefix, model string) {
		name = string(provider)
		keyVariable := prefix + "_API_KEY"
		take("provider", string(provider), keyVariable)
		take("apiKeyEnv", keyVariable, keyVariable)
		takeModel(prefix+"_MODEL", model)
		// A key must not go to another server than the one it is for.
		if base := env[prefix+"_BASE_URL"]; base != "" {
			take("baseURL", base, prefix+"_BASE_URL")
		}
	}
	switch {
	case env["OPENAI_API_KEY"] != "":
		takeKeyed(ProviderOpenAI, "OPENAI", openaiModel)
	case env["ANTHROPIC_API_KEY"] != "":
		takeKeyed(ProviderAnthropic, "ANTHROPIC", anthropicModel)
	case env["OLLAMA_HOST"] != "":
		name = "ollama"
		take("provider", string(ProviderOpenAI), "OLLAMA_HOST")
		take("baseURL", ollamaURL(env["OLLAMA_HOST"]), "OLLAMA_HOST")
		takeModel("OLLAMA_MODEL", ollamaModel)
	default:
		name = "offline"
		take("provider", string(ProviderOffline), "")
	}
	defaults.names[sectionOracles] = []string{name}
	return name, wrong
}

// ollamaURL turns OLLAMA_HOST into the base of its OpenAI-compatible API. The
// variable holds a URL, or host:port, or a host, and may be the address that
// the server listens on rather than one to call.
func ollamaURL(host string) string {
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil {
		return host
	}
	name, port := u.Hostname(), u.Port()
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	switch {
	case port == "" && u.Scheme == "http":
		u.Host = net.JoinHostPort(name, "11434")
	case port != "":
		u.Host = net.JoinHostPort(name, port)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1") + "/v1"
	return u.String()
}
