package tests

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row says what one package may import. The names of the module's own packages
// are written without the module's path; "x/..." is x and all below it. The
// standard library is free to all.
type row struct {
	dir     string
	inside  []string // of this module
	outside []string // of other modules, by prefix
	tests   []string // of this module, for test files beyond inside
	why     string
}

// table is the direction of the house. A package without its row fails, so
// that a new one begins with the question of where it stands.
var table = []row{
	{
		dir: "sessions",
		why: "the vocabulary all others speak: it needs none of them, and no library",
	},
	{
		dir:     "persistence/sqlite",
		inside:  []string{"sessions"},
		outside: []string{"modernc.org/sqlite", "github.com/pressly/goose/v3", "github.com/google/uuid"},
		tests:   []string{"persistence/storetest"},
		why:     "a store implements the port of sessions and is the only one to know its driver",
	},
	{
		dir:    "persistence/memory",
		inside: []string{"sessions"},
		tests:  []string{"persistence/storetest"},
		why:    "a store implements the port of sessions, and this one needs nothing but maps",
	},
	{
		dir:     "persistence/storetest",
		inside:  []string{"sessions"},
		outside: []string{"github.com/stretchr/testify", "pgregory.net/rapid", "github.com/google/uuid"},
		why:     "the contract of every store, so it may know none of them",
	},
	{
		dir:    "oracle",
		inside: []string{"sessions"},
		why:    "the inference port: what a model is asked and answers",
	},
	{
		dir:    "oracle/offline",
		inside: []string{"oracle", "sessions"},
		why:    "an adapter knows its port and the vocabulary",
	},
	{
		dir:     "oracle/scripted",
		inside:  []string{"oracle", "oracle/requestlog", "sessions"},
		outside: []string{"github.com/goccy/go-yaml"},
		why:     "an adapter; its scripts are YAML",
	},
	{
		dir: "oracle/requestlog",
		why: "counts what arrives, whatever it is",
	},
	{
		dir:    "oracle/provider",
		inside: []string{"oracle", "sessions"},
		why:    "what adapters of models behind an API share; it knows no SDK and no wire format",
	},
	{
		dir:    "oracle/provider/providertest",
		inside: []string{"oracle/requestlog"},
		why:    "plays bytes; what they mean is for the packages of the wire formats",
	},
	{
		dir:     "oracle/provider/adaptertest",
		inside:  []string{"oracle", "oracle/provider", "oracle/provider/providertest", "sessions"},
		outside: []string{"github.com/stretchr/testify"},
		why:     "what every adapter does, as tests; it knows none of them",
	},
	{
		dir:     "oracle/openai",
		inside:  []string{"oracle", "oracle/provider", "sessions"},
		outside: []string{"github.com/openai/openai-go/v3"},
		tests:   []string{"oracle/openai/openaitest", "oracle/provider/adaptertest", "oracle/provider/providertest"},
		why:     "an adapter, and the only one to know its SDK",
	},
	{
		dir:     "oracle/anthropic",
		inside:  []string{"oracle", "oracle/provider", "sessions"},
		outside: []string{"github.com/anthropics/anthropic-sdk-go/v2"},
		tests:   []string{"oracle/anthropic/anthropictest", "oracle/provider/adaptertest"},
		why:     "an adapter, and the only one to know its SDK",
	},
	{
		dir:    "oracle/anthropic/anthropictest",
		inside: []string{"oracle/provider/providertest"},
		why:    "speaks the wire format by hand, so that the adapter is not tested against its own SDK",
	},
	{
		dir:    "oracle/openai/openaitest",
		inside: []string{"oracle/provider/providertest"},
		why:    "speaks the wire format by hand, so that the adapter is not tested against its own SDK",
	},
	{
		dir:     "tools",
		inside:  []string{"sessions"},
		outside: []string{"github.com/google/jsonschema-go"},
		why:     "the tree of what can be called; mounts are an interface here, actors elsewhere",
	},
	{
		dir:    "tools/subagent",
		inside: []string{"sessions", "tools"},
		why:    "a tool like others: where children live is behind its Place",
	},
	{
		dir:     "tools/mcp",
		inside:  []string{"sessions", "tools"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk"},
		tests:   []string{"tools/mcp/mcptest"},
		why:     "tools of other programs, and the only one to know the SDK to reach them",
	},
	{
		dir:     "tools/mcp/mcptest",
		outside: []string{"github.com/modelcontextprotocol/go-sdk"},
		why:     "a server as others write them; it knows nothing of this house",
	},
	{
		dir:     "tools/repl",
		inside:  []string{"sessions", "tools"},
		outside: []string{"github.com/tetratelabs/wazero"},
		why:     "a tool like others, and the only one to know what its engine runs in",
	},
	{
		dir:     "actors",
		inside:  []string{"sessions", "oracle", "tools", "tools/subagent", "actors/feed"},
		outside: []string{"github.com/asynkron/protoactor-go", "github.com/google/uuid", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes", "go.opentelemetry.io/otel/trace"},
		tests:   []string{"actors/actortest", "oracle/scripted", "oracle/offline", "persistence/sqlite"},
		why:     "runs turns on the ports; which store and which model is the host's choice",
	},
	{
		dir:    "actors/feed",
		inside: []string{"sessions"},
		why:    "carries frames to their readers; it is no actor and starts none",
	},
	{
		dir:     "actors/actortest",
		inside:  []string{"sessions", "oracle", "tools", "actors", "actors/feed", "persistence/sqlite", "oracle/scripted", "oracle/offline"},
		outside: []string{"github.com/asynkron/protoactor-go", "github.com/stretchr/testify", "go.uber.org/goleak", "github.com/google/uuid"},
		why:     "test support for programs that are actor systems themselves",
	},
	{
		dir:     "host",
		inside:  []string{"sessions", "oracle", "tools", "actors", "actors/feed", "host/api"},
		outside: []string{"github.com/google/uuid", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes", "go.opentelemetry.io/otel/trace", "golang.org/x/time/rate"},
		tests:   []string{"persistence/sqlite", "oracle/scripted", "oracle/offline", "oracle/openai/...", "host/...", "actors/actortest"},
		why:     "composes what it is given: an embedder links only the adapters it names",
	},
	{
		dir:    "host/api",
		inside: []string{"sessions", "host/api/strictjson"},
		why:    "the wire's values and their strict reading, shared by server and client",
	},
	{
		dir:    "host/api/strictjson",
		inside: []string{"sessions"},
		why:    "the strict JSON scanner: it knows bytes and the error that names a place in them",
	},
	{
		dir: "host/sse",
		why: "streams of server-sent events, written by both faces: it knows bytes and slow readers",
	},
	{
		dir:    "host/agentsv1",
		inside: []string{"host", "host/api", "host/api/strictjson", "host/sse", "sessions"},
		tests:  []string{"oracle/scripted", "persistence/memory", "tools"},
		why:    "a second face of the host: what is another API's own, over the operations that there are",
	},
	{
		dir:     "host/server",
		inside:  []string{"sessions", "oracle", "tools", "host", "host/api", "host/api/strictjson", "host/sse"},
		outside: []string{"github.com/coder/websocket", "github.com/google/uuid", "go.opentelemetry.io/otel/propagation"},
		tests:   []string{"host/client", "host/hosttest", "persistence/sqlite", "oracle/scripted", "oracle/offline", "tests/rawhttp"},
		why:     "a door of the host: it calls the host's methods and nothing behind them",
	},
	{
		dir:     "host/client",
		inside:  []string{"sessions", "host/api", "host/api/strictjson"},
		outside: []string{"github.com/coder/websocket", "github.com/google/uuid"},
		tests:   []string{"host", "host/server", "host/hosttest", "oracle/scripted", "oracle/offline", "persistence/sqlite"},
		why:     "a program that only talks to a host must not link one",
	},
	{
		dir:     "host/remotes",
		inside:  []string{"sessions", "tools", "tools/subagent", "host/api", "host/client"},
		outside: []string{"github.com/google/uuid"},
		tests:   []string{"host", "host/server", "host/hosttest", "oracle/scripted", "oracle/offline", "persistence/sqlite"},
		why:     "sub-agents on other hosts: to the tool it is a place, to the other host a client",
	},
	{
		dir:     "host/telemetry",
		inside:  []string{"sessions", "actors", "host", "host/api", "host/server"},
		outside: []string{"github.com/prometheus/client_golang"},
		tests:   []string{"oracle/scripted", "host/hosttest", "persistence/sqlite"},
		why:     "counts by the observers that others declare; the only one to know how counts are shown",
	},
	{
		dir:     "host/hosttest",
		inside:  []string{"sessions", "oracle/...", "tools", "actors", "host", "host/api", "host/server", "host/client", "persistence/sqlite"},
		outside: []string{"github.com/stretchr/testify", "github.com/coder/websocket"},
		why:     "a whole host for an embedder's tests, with a raw WebSocket to it",
	},
	{
		dir:     "cmd/agenthost",
		inside:  []string{"..."},
		outside: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term", "github.com/google/uuid", "go.opentelemetry.io/otel"},
		why:     "wires everything together; the only place that chooses adapters",
	},
	{
		dir:     "cmd/agenthost/config",
		inside:  []string{"sessions", "tools"},
		outside: []string{"github.com/knadh/koanf/v2", "github.com/goccy/go-yaml"},
		why:     "reads settings into plain values; what they are made into is the command's business",
	},
	{
		dir: "cmd/agenthost/search",
		why: "looks for texts in files, whoever wrote them",
	},
	{
		dir:     "tests",
		inside:  []string{"..."},
		outside: []string{""},
		why:     "the system as a whole",
	},
	{
		dir:     "tests/agentsv1",
		inside:  []string{"..."},
		outside: []string{"github.com/openai/openai-go/v3", "github.com/getkin/kin-openapi", "github.com/santhosh-tekuri/jsonschema/v6", "github.com/goccy/go-yaml", "github.com/stretchr/testify", "github.com/tidwall/gjson", "modernc.org/sqlite"},
		why:     "drives the host by the official SDK, in a module of its own; the house is not to need what only it needs",
	},
	{
		dir:     "tests/rawhttp",
		outside: []string{"github.com/stretchr/testify"},
		why:     "speaks HTTP by hand, to any server",
	},
	{
		dir:     "tests/rows",
		outside: []string{"github.com/stretchr/testify"},
		why:     "reads any table, and so knows none",
	},
	{
		dir:     "tests/story",
		inside:  []string{"..."},
		outside: []string{"go.uber.org/goleak", "github.com/stretchr/testify"},
		why:     "one conversation with all there is, from outside",
	},
	{
		dir:     "tests/crash",
		inside:  []string{"..."},
		outside: []string{"github.com/stretchr/testify", "modernc.org/sqlite"},
		why:     "kills serving hosts, and looks into what they leave with the bare driver",
	},
	{
		dir: "tests/bench",
		inside: []string{"sessions", "oracle", "oracle/openai", "oracle/openai/openaitest", "oracle/anthropic", "oracle/anthropic/anthropictest",
			"oracle/provider", "oracle/provider/providertest", "tools", "tools/mcp", "tools/mcp/mcptest", "host", "host/api", "host/client",
			"host/server", "host/telemetry", "persistence/memory", "persistence/sqlite"},
		outside: []string{"modernc.org/sqlite", "github.com/google/uuid", "github.com/openai/openai-go/v3",
			"github.com/anthropics/anthropic-sdk-go/v2", "github.com/modelcontextprotocol/go-sdk"},
		why: "measures the whole host, as an embedder composes it, against the bare driver, the SDKs and the tools themselves",
	},
	{
		dir:     "tests/model",
		inside:  []string{"sessions", "oracle", "tools", "actors", "host", "host/api", "persistence/sqlite"},
		outside: []string{"github.com/anishathalye/porcupine"},
		why:     "compares the host, as an embedder composes it, with a plain model of its contract",
	},
	{
		dir:    "tests/races",
		inside: []string{"sessions", "oracle", "host", "host/agentsv1", "host/api", "persistence/sqlite", "tests/rows"},
		why:    "races deletes in orders that the store's writer is stopped for, and reads its file with the bare driver",
	},
}

// testModules are the libraries that any test may use. A WebSocket is here for
// tests that speak to a door without the client.
var testModules = []string{
	"github.com/coder/websocket", "github.com/rogpeppe/go-internal", "github.com/stretchr/testify",
	"go.uber.org/goleak", "pgregory.net/rapid", "github.com/google/uuid", "go.opentelemetry.io/otel/sdk/trace",
}

func TestImportsFollowTheTable(t *testing.T) {
	rows := map[string]row{}
	for _, r := range table {
		require.NotEmpty(t, r.why, "%s needs its reason", r.dir)
		require.NotContains(t, rows, r.dir, "%s has two rows", r.dir)
		rows[r.dir] = r
	}
	for _, file := range readSource(t) {
		r, ok := rows[file.dir]
		if !ok {
			t.Errorf("%s: package %s has no row in the table of imports; give it one, with its reason", file.name, file.dir)
			continue
		}
		for _, imported := range file.imports() {
			if !r.allows(imported, file.test) {
				t.Errorf("%s imports %s, which %s may not (%s)", file.name, imported, file.dir, r.why)
			}
		}
	}
}

// allows reports whether a file of the row's package may import the package.
func (r row) allows(imported string, test bool) bool {
	if own, ok := strings.CutPrefix(imported, module+"/"); ok {
		// An external test package imports the package it tests.
		return matches(r.inside, own) || test && (own == r.dir || matches(r.tests, own))
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return imported != "database/sql" || slices.Contains([]string{"persistence/sqlite", "tests", "tests/agentsv1", "tests/bench", "tests/crash", "tests/races", "tests/rows"}, r.dir)
	}
	return below(r.outside, imported) || test && below(testModules, imported)
}

// matches reports whether one of the patterns names the package of this module.
func matches(patterns []string, own string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		tree, isTree := strings.CutSuffix(pattern, "...")
		tree = strings.TrimSuffix(tree, "/")
		return own == pattern || isTree && (tree == "" || own == tree || strings.HasPrefix(own, tree+"/"))
	})
}

// below reports whether the package is one of the prefixes or lies below it.
// The empty prefix is above everything.
func below(prefixes []string, imported string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return prefix == "" || imported == prefix || strings.HasPrefix(imported, prefix+"/")
	})
}

func TestTableRefusesWrongDirections(t *testing.T) {
	rows := map[string]row{}
	for _, r := range table {
		rows[r.dir] = r
	}
	for _, wrong := range []struct {
		dir, imported string
		test          bool
	}{
		{"sessions", "agenthost/oracle", false},
		{"sessions", "github.com/google/uuid", false},
		{"sessions", "agenthost/persistence/storetest", true},
		{"oracle", "github.com/openai/openai-go/v3", false},
		{"oracle/openai", "agenthost/oracle/offline", false},
		{"oracle/openai/openaitest", "github.com/openai/openai-go/v3", false},
		{"tools", "github.com/asynkron/protoactor-go/actor", false},
		{"tools", "github.com/asynkron/protoactor-go/actor", true},
		{"actors", "agenthost/persistence/sqlite", false},
		{"actors", "agenthost/host", true},
		{"host", "agenthost/persistence/sqlite", false},
		{"host", "agenthost/oracle/openai", false},
		{"host", "github.com/asynkron/protoactor-go/actor", false},
		{"host", "database/sql", true},
		{"host/client", "agenthost/host", false},
		{"host/server", "agenthost/actors", false},
		{"host/server", "modernc.org/sqlite", true},
		{"host/server", "github.com/coder/websocketry", false},
		{"cmd/agenthost/config", "agenthost/host", false},
	} {
		require.False(t, rows[wrong.dir].allows(wrong.imported, wrong.test), "%s → %s", wrong.dir, wrong.imported)
	}
	for _, right := range []struct {
		dir, imported string
		test          bool
	}{
		{"sessions", "agenthost/sessions", true},
		{"host", "agenthost/oracle/openai/openaitest", true},
		{"persistence/sqlite", "modernc.org/sqlite/lib", false},
		{"cmd/agenthost", "agenthost/persistence/sqlite", false},
		{"tests", "github.com/asynkron/protoactor-go/actor", true},
	} {
		require.True(t, rows[right.dir].allows(right.imported, right.test), "%s → %s", right.dir, right.imported)
	}
}
