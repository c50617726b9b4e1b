package config

import "strings"

// resolve decides whether there is tracing: when a collector is named, here or by
// the variables that OpenTelemetry has for it, and nothing there turns it off.
func (t *Tracing) resolve(env environment) {
	isNamed := t.Endpoint != "" || env["OTEL_EXPORTER_OTLP_ENDPOINT"] != "" || env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] != ""
	isOff := strings.EqualFold(env["OTEL_SDK_DISABLED"], "true") || env["OTEL_TRACES_EXPORTER"] == "none"
	t.On = isNamed && !isOff
}

// checkURLOrNone is checkURL for a setting that may be empty.
func checkURLOrNone(value any) string {
	if value == "" {
		return ""
	}
	return checkURL(value)
}
