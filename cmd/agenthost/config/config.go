package config

import (
	"encoding/json"
	"time"

	"agenthost/sessions"
)

// Config is the effective configuration, every value filled in and checked.
type Config struct {
	// File is the configuration file that was read, "" if none.
	File string `koanf:"-"`
	// Picked names the oracle that was chosen because none is configured. It is
	// "" when oracles are configured.
	Picked string `koanf:"-"`

	Store      string        // sqlite:PATH
	Listen     string        // host:port
	Unix       string        // path of a socket for administration, "" for none
	IdleTTL    time.Duration // residence of an idle session
	DedupTTL   time.Duration // life of an ended request's claim
	StopGrace  time.Duration // what running turns get at a stop
	Durability Durability
	Frames     Frames
	TargetRoot string // tools of targets are mounted below

	OwnerDayTokens int64 // what an owner's model calls may consume in a day; 0 means no bound

	Retention Retention
	REPL      REPL
	TLS       TLS
	Tracing   Tracing
	Oracles   map[string]Oracle
	Profiles  map[string]Profile
	Remotes   map[string]Remote
	MCP       map[string]MCPServer
	Limits    sessions.Limits

	values []Value
}

// Durability says what an acknowledged write survives.
type Durability string

// The durabilities.
const (
	DurabilityPower   Durability = "power"   // loss of power
	DurabilityProcess Durability = "process" // death of the process, not loss of power
)

// Frames says where the frames of new sessions are kept.
type Frames string

// The places of frames.
const (
	FramesRecord Frames = "record" // in the database
	FramesFile   Frames = "file"   // in files beside it, a file for each turn
)

// Provider names the kind of an oracle.
type Provider string

// The providers.
const (
	ProviderOpenAI    Provider = "openai"
	ProviderAnthropic Provider = "anthropic"
	ProviderOffline   Provider = "offline"
	ProviderScripted  Provider = "scripted"
)

// Oracle configures one oracle.
type Oracle struct {
	Provider   Provider
	Model      string
	BaseURL    string // "" for the provider's own
	APIKeyEnv  string // the environment variable that holds the key
	APIKeyFile string // or the file that does, from the working directory
	File       string // the script of a scripted oracle, from the working directory
	APIKey     Secret `koanf:"-"` // what APIKeyEnv or APIKeyFile refers to, "" for none
}

// Profile configures one profile.
type Profile struct {
	Oracle           string // a name in Config.Oracles
	System           string // the system prompt
	Tools            []string
	MaxIterations    int // model calls in one turn
	PromptTimeout    time.Duration
	IdleTTL          time.Duration
	OnScopeViolation Outcome
	OnToolError      Outcome
	ToolTimeout      time.Duration // of one call
	// Repeatable are subtrees whose calls may be run again after a crash.
	Repeatable []string
	// NeedsApproval are subtrees whose calls a client has to approve.
	NeedsApproval []string
	// ClientTools are the tools that clients run, a JSON list of
	// sessions.ClientTool; "" for none.
	ClientTools string
	WaitTimeout time.Duration   // of one wait for clients; 0 means no bound
	Retention   RetentionRules  // of this profile's sessions, beside those of all
	Budget      Budget          // of tokens
	Params      sessions.Params // of every model call
	// AnswerSchema is the JSON Schema of every answer, "" for free text.
	AnswerSchema string
}

// Schema is AnswerSchema as JSON, nil for free text.
func (p Profile) Schema() json.RawMessage {
	if p.AnswerSchema == "" {
		return nil
	}
	return json.RawMessage(p.AnswerSchema)
}

// Budget bounds what model calls consume, in tokens of input and output. 0 means no
// bound.
type Budget struct {
	TurnTokens    int64
	SessionTokens int64
}

// Remote configures another agenthost whose agents can be sub-agents of this one's.
type Remote struct {
	URL      string
	KeyEnv   string        // the environment variable that holds the key
	Profiles []string      // those of its profiles that are mounted
	Grace    time.Duration // how long it may be out of reach
	Key      Secret        `koanf:"-"` // what KeyEnv refers to, "" for none
}

// Retention says which sessions the host removes by itself.
type Retention struct {
	Every          time.Duration // between two sweeps
	RetentionRules `koanf:",squash"`
}

// Tracing says where spans are sent to.
type Tracing struct {
	Endpoint string // the URL of a collector, "" for what the environment says
	On       bool   `koanf:"-"` // there is a collector, and tracing is not disabled
}

// TLS names the files, from the working directory, by which the host proves who it
// is. Both are "" when it serves without TLS.
type TLS struct {
	Cert string // the certificate, with those in between, in PEM
	Key  string // its private key, in PEM
}

// On reports whether there is TLS.
func (t TLS) On() bool { return t.Cert != "" }

// REPL bounds the cells of the tool that runs JavaScript.
type REPL struct {
	Timeout     time.Duration // of one cell
	MemoryBytes int64         // of one cell, and of what is kept for the next
}

// RetentionRules are the rules of retention. 0 means off.
type RetentionRules struct {
	MaxAge      time.Duration // since a tree's newest activity
	MaxSessions int64         // roots of an owner
	BlankAfter  time.Duration // since the newest activity of a tree without a turn
}

// Outcome says what becomes of a turn when one of its tool calls goes wrong.
type Outcome string

// The outcomes.
const (
	OutcomeFail   Outcome = "fail"   // the turn fails
	OutcomeReport Outcome = "report" // the model gets the error as the call's result
)

// Source says where a value came from. A later one in the list below wins.
type Source string

// The sources.
const (
	SourceDefault Source = "default"
	SourceFile    Source = "file"
	SourceEnv     Source = "env"
	SourceFlag    Source = "flag"
)

// Value is one setting as it is in effect, for people to look at.
type Value struct {
	Key    string // such as profiles.default.maxIterations
	Value  any    // a string, an int64 or a []string; durations like 10m
	Source Source
	Origin string // the file, variable or flag; "" for a default
}

// Values lists the settings in effect, in the order of their documentation.
func (c *Config) Values() []Value { return c.values }
