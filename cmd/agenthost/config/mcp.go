package config

import (
	"agenthost/tools"
)

// MCPServer configures one MCP server, of which either Command or URL is set.
type MCPServer struct {
	Command []string // a program and its arguments
	URL     string
	Mount   string            // the path its tools are mounted below
	Env     []string          // the environment variables that the program gets beside the usual ones
	KeyEnv  string            // the environment variable that holds the key for URL
	Key     Secret            `koanf:"-"` // what KeyEnv refers to, "" for none
	Values  map[string]Secret `koanf:"-"` // what Env refers to
}

// mcpRoot is where servers are mounted that name no place, each at its own name.
const mcpRoot = "/mcp"

// fillMCP sets the defaults of one server. One whose name cannot be part of a
// path has none, and has to say where it is mounted.
func (l *layer) fillMCP(name string) {
	l.fill(sectionMCP, name)
	if mount, err := tools.ParsePath(mcpRoot + "/" + name); err == nil {
		l.set(key{sectionMCP, name, "mount"}, mount)
	}
}

// resolve checks a server and fills in what it takes from the environment.
func (s *MCPServer) resolve(name string, env environment) error {
	at := key{section: sectionMCP, field: name}.String()
	switch {
	case (len(s.Command) == 0) == (s.URL == ""):
		return problem(at, "an MCP server needs command or url, and not both.")
	case len(s.Command) > 0 && s.Command[0] == "":
		return problem(at+".command", "the command begins with a program.")
	case s.KeyEnv != "" && s.URL == "":
		return problem(at, "keyEnv is for servers with url only; name what a program needs in env.")
	case len(s.Env) > 0 && s.URL != "":
		return problem(at, "env is for servers with command only.")
	case s.Mount == "":
		return problem(at, "the name cannot be part of a path, so the server needs mount.")
	}
	if s.KeyEnv != "" {
		if s.Key = Secret(env[s.KeyEnv]); s.Key == "" {
			return problem(at+".keyEnv", "the environment variable %s is not set.", s.KeyEnv)
		}
	}
	s.Values = map[string]Secret{}
	for _, variable := range s.Env {
		value, ok := env[variable]
		if !ok {
			return problem(at+".env", "the environment variable %s is not set.", variable)
		}
		s.Values[variable] = Secret(value)
	}
	return nil
}

// checkVariables is as careful as checkVariable.
func checkVariables(value any) string {
	for _, name := range value.([]string) {
		if !variable.MatchString(name) {
			return "must list names of environment variables, as in [GITHUB_TOKEN], never their values"
		}
	}
	return ""
}
