package config

import "log/slog"

// Secret is text that printing, logging and JSON show only as asterisks.
type Secret string

const mask = "****"

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String masks the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString masks the secret for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText masks the secret for encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue masks the secret for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
