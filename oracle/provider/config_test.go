package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle/provider"
	"agenthost/sessions"
)

func TestConfigsAreCompleted(t *testing.T) {
	c, err := provider.Config{Model: "m", APIKey: "k"}.Complete("acme", "https://acme.example/v1")
	require.NoError(t, err)
	require.Equal(t, "acme:m", c.Name)
	require.Equal(t, "https://acme.example/v1", c.BaseURL)
	require.NotNil(t, c.HTTPClient)

	mine := provider.Config{Model: "m", BaseURL: "http://x", Name: "mine", HTTPClient: c.HTTPClient}
	same, err := mine.Complete("acme", "https://acme.example/v1")
	require.NoError(t, err)
	require.Equal(t, mine, same)
}

func TestBaseURLsAreAbsolute(t *testing.T) {
	for _, bad := range []string{"x", "localhost:80/v1", "ftp://x", "http://"} {
		_, err := provider.Config{Model: "m", BaseURL: bad}.Complete("acme", "https://acme.example/v1")
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), bad)
		require.Equal(t, "/baseURL", sessions.AsError(err).Details["field"], bad)
	}
}
