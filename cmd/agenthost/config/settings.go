package config

import (
	"reflect"
	"slices"
	"strings"

	"agenthost/sessions"
	"agenthost/tools"
)

// The sections of the configuration. Settings at the top are in the section "".
const (
	sectionLimits    = "limits"
	sectionOracles   = "oracles"
	sectionProfiles  = "profiles"
	sectionRetention = "retention"
	sectionRemotes   = "remotes"
	sectionMCP       = "mcp"
	sectionREPL      = "repl"
	sectionTracing   = "tracing"
	sectionTLS       = "tls"
)

// namedSections are those whose entries have names.
var namedSections = []string{sectionOracles, sectionProfiles, sectionRemotes, sectionMCP}

// setting describes one setting, or one field of every oracle or profile.
type setting struct {
	section, field string
	form           form
	// fallback is the value without any source, nil if there is none or it
	// depends on other settings.
	fallback any
	// check says what is wrong with a value of the right form, "" if nothing.
	check func(value any) string
}

// settings is the one list of what can be configured, in the order in which it
// is printed.
var settings = slices.Concat([]setting{
	{field: "store", form: formText, fallback: "sqlite:agenthost.db", check: checkStore},
	{field: "listen", form: formText, fallback: "127.0.0.1:7777", check: checkListen},
	{field: "unix", form: formText, fallback: ""},
	{field: "idleTTL", form: formDuration, fallback: "10m"},
	{field: "dedupTTL", form: formDuration, fallback: "5m"},
	{field: "stopGrace", form: formDuration, fallback: "10s"},
	{field: "durability", form: formText, fallback: "power", check: oneOf("power", "process")},
	{field: "frames", form: formText, fallback: "record", check: oneOf("record", "file")},
	{field: "targetRoot", form: formText, fallback: "/targets", check: checkPath},
	{field: "ownerDayTokens", form: formIntegerFromZero, fallback: int64(0)},

	{section: sectionRetention, field: "every", form: formDuration, fallback: "5m"},
	{section: sectionRetention, field: "maxAge", form: formDurationOrOff, fallback: "0"},
	{section: sectionRetention, field: "maxSessions", form: formIntegerFromZero, fallback: int64(0)},
	{section: sectionRetention, field: "blankAfter", form: formDurationOrOff, fallback: "0"},

	{section: sectionTLS, field: "cert", form: formText, fallback: ""},
	{section: sectionTLS, field: "key", form: formText, fallback: ""},

	{section: sectionTracing, field: "endpoint", form: formText, fallback: "", check: checkURLOrNone},

	{section: sectionREPL, field: "timeout", form: formDuration, fallback: "5s"},
	{section: sectionREPL, field: "memoryBytes", form: formInteger, fallback: int64(64 << 20), check: checkMemory},

	{section: sectionOracles, field: "provider", form: formText, check: oneOf("openai", "anthropic", "offline", "scripted")},
	{section: sectionOracles, field: "model", form: formText},
	{section: sectionOracles, field: "baseURL", form: formText, check: checkURL},
	{section: sectionOracles, field: "apiKeyEnv", form: formText, check: checkVariable},
	{section: sectionOracles, field: "apiKeyFile", form: formText},
	{section: sectionOracles, field: "file", form: formText},

	{section: sectionProfiles, field: "oracle", form: formText},
	{section: sectionProfiles, field: "system", form: formText, fallback: ""},
	{section: sectionProfiles, field: "tools", form: formList, fallback: []string{tools.TargetEntry, "/builtin"}, check: checkTools},
	{section: sectionProfiles, field: "maxIterations", form: formInteger, fallback: int64(25), check: checkMaxIterations},
	{section: sectionProfiles, field: "promptTimeout", form: formDuration, fallback: "5m"},
	{section: sectionProfiles, field: "idleTTL", form: formDuration},
	{section: sectionProfiles, field: "onScopeViolation", form: formText, fallback: "fail", check: oneOf("fail", "report")},
	{section: sectionProfiles, field: "onToolError", form: formText, fallback: "report", check: oneOf("fail", "report")},
	{section: sectionProfiles, field: "toolTimeout", form: formDuration, fallback: "2m"},
	{section: sectionProfiles, field: "repeatable", form: formList, fallback: []string{}, check: checkPaths},
	{section: sectionProfiles, field: "needsApproval", form: formList, fallback: []string{}, check: checkPaths},
	{section: sectionProfiles, field: "clientTools", form: formClientTools},
	{section: sectionProfiles, field: "waitTimeout", form: formDurationOrOff, fallback: "0"},
	{section: sectionProfiles, field: "retention.maxAge", form: formDurationOrOff, fallback: "0"},
	{section: sectionProfiles, field: "retention.maxSessions", form: formIntegerFromZero, fallback: int64(0)},
	{section: sectionProfiles, field: "retention.blankAfter", form: formDurationOrOff, fallback: "0"},
	{section: sectionProfiles, field: "budget.turnTokens", form: formIntegerFromZero, fallback: int64(0)},
	{section: sectionProfiles, field: "budget.sessionTokens", form: formIntegerFromZero, fallback: int64(0)},
	{section: sectionProfiles, field: "params.temperature", form: formNumber},
	{section: sectionProfiles, field: "params.topP", form: formNumber},
	{section: sectionProfiles, field: "params.maxTokens", form: formInteger},
	{section: sectionProfiles, field: "params.seed", form: formIntegerFromZero},
	{section: sectionProfiles, field: "params.effort", form: formText},
	{section: sectionProfiles, field: "answerSchema", form: formSchema},

	{section: sectionRemotes, field: "url", form: formText, check: checkURL},
	{section: sectionRemotes, field: "keyEnv", form: formText, check: checkVariable},
	{section: sectionRemotes, field: "profiles", form: formList, fallback: []string{sessions.DefaultProfile}},
	{section: sectionRemotes, field: "grace", form: formDuration, fallback: "30s"},

	{section: sectionMCP, field: "command", form: formList},
	{section: sectionMCP, field: "url", form: formText, check: checkURL},
	{section: sectionMCP, field: "mount", form: formText, check: checkPath},
	{section: sectionMCP, field: "env", form: formList, check: checkVariables},
	{section: sectionMCP, field: "keyEnv", form: formText, check: checkVariable},
}, limitSettings())

// limitSettings derives a setting from every limit, so that a new limit needs
// no second entry here.
func limitSettings() []setting {
	defaults := reflect.ValueOf(sessions.DefaultLimits())
	var list []setting
	for field, value := range defaults.Fields() {
		name := strings.ToLower(field.Name[:1]) + field.Name[1:]
		list = append(list, setting{section: sectionLimits, field: name, form: formInteger, fallback: value.Int()})
	}
	return list
}

// find returns the setting that the key names.
func find(k key) (setting, bool) {
	i := slices.IndexFunc(settings, func(s setting) bool { return s.section == k.section && s.field == k.field })
	if i < 0 || named(k.section) != (k.name != "") {
		return setting{}, false
	}
	return settings[i], true
}

// fieldsOf lists what may be written in a section, in order. At the top that
// includes the sections.
func fieldsOf(section string) []string {
	var fields []string
	for _, s := range settings {
		switch {
		case s.section == section:
			fields = append(fields, s.field)
		case section == "" && !slices.Contains(fields, s.section):
			fields = append(fields, s.section)
		}
	}
	return fields
}
