package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTracingIsOnWhenACollectorIsNamed(t *testing.T) {
	const here, off = "tracing: {endpoint: \"http://127.0.0.1:4318/v1/traces\"}", ""
	for name, c := range map[string]struct {
		file string
		env  []string
		on   bool
	}{
		"nowhere":                     {off, nil, false},
		"in the file":                 {here, nil, true},
		"in a variable of the host":   {off, []string{"AGENTHOST_TRACING_ENDPOINT=https://east.example"}, true},
		"for all signals":             {off, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://east.example"}, true},
		"for traces":                  {off, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://east.example"}, true},
		"and the SDK is disabled":     {here, []string{"OTEL_SDK_DISABLED=True"}, false},
		"and traces are not exported": {here, []string{"OTEL_TRACES_EXPORTER=none"}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.on, mustLoad(t, c.file, c.env).Tracing.On) })
	}
	_, err := load(t, "tracing: {endpoint: here}", nil)
	require.ErrorContains(t, err, "tracing.endpoint")
}
