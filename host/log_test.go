package host_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/host/server"
	"agenthost/sessions"
)

// At the lowest level a log tells of every turn whose it is, and never what was
// said in it.
func TestLogsHoldIDsAndNoContent(t *testing.T) {
	var written bytes.Buffer
	log := slog.New(slog.NewTextHandler(&written, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := hosttest.New(t, hosttest.Options{
		Profiles: busyProfiles(), Config: host.Config{Logger: log}, Server: server.Config{Logger: log}})
	mountPair(t, h)
	done := hosttest.Result[api.PromptResult](t, h.Socket().Call(api.OpPrompt, api.PromptArgs{
		Address: atK, Text: "everything about " + secret, RequestID: "mine"}))
	failed := h.Socket().Call(api.OpPrompt, api.PromptArgs{Address: atK, Text: "fail " + secret, RequestID: "failing"})
	require.Equal(t, sessions.CodeLLMAPIFailure, hosttest.Code(failed))
	_, err := h.SessionDelete(t.Context(), &api.SessionDeleteArgs{Address: atK})
	require.NoError(t, err)
	h.Stop()

	require.NotContains(t, written.String(), secret)
	turn := "session=" + string(done.SessionID) + " turn=" + string(done.TurnID) + " request=mine"
	var ends, failures int
	for line := range strings.Lines(written.String()) {
		if strings.Contains(line, `msg="turn ended" `+turn) {
			ends++
		}
		if strings.Contains(line, `msg="model call failed" session=`+string(done.SessionID)) && strings.Contains(line, "request=failing") {
			failures++
		}
	}
	require.Equal(t, 1, ends, written.String())
	require.Equal(t, 1, failures, written.String())
}
