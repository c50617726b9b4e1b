// Package config reads what the command is told about its host: agenthost.yaml,
// the environment and the flags, over defaults.
//
// It owns the names of the settings, their forms and checks, and where each
// value came from. It does not own what they are made into: it opens no store,
// calls no model and knows no host. A Config is a plain value; nothing changes
// it after Load, and many goroutines may read it.
package config
