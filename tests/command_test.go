package tests

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// The command itself, killed while a model writes: what was written is kept, the
// turn is taken up by the next host, can be cancelled, and the session goes on.
func TestKillOfTheCommandInMidModelCall(t *testing.T) {
	folder := t.TempDir()
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", folder, "agenthost/cmd/agenthost").CombinedOutput()
	require.NoError(t, err, "%s", built)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("script.yaml", "rules:\n  - {when: hang, steps: [{text: Well, hang: true}]}\nsteps:\n  - {text: fine, repeat: true}\n")
	write("agenthost.yaml", "listen: 127.0.0.1:0\noracles: {play: {provider: scripted, file: script.yaml}}\nprofiles: {default: {oracle: play}}\n")

	first := startCommand(t, folder)
	require.Equal(t, "fine", ask(t, first.client, "one"))
	_, err = first.client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "hang", RequestID: "r1"}, func(f sessions.Frame) error {
		if text, ok := f.Body.(sessions.TextPart); ok { // kept, so that it survives
			require.Equal(t, "Well", text.Text)
			first.kill()
			return errKilled
		}
		return nil
	})
	require.ErrorIs(t, err, errKilled)

	second := startCommand(t, folder)
	got, err := second.client.SessionGet(t.Context(), api.SessionGetArgs{Address: atK})
	require.NoError(t, err)
	require.Equal(t, sessions.StatusRunning, got.Session.Status)
	require.Equal(t, sessions.RequestID("r1"), got.Session.ActiveTurn.RequestID)
	cancelled, err := second.client.Cancel(t.Context(), api.CancelArgs{Address: atK, RequestID: "r1"})
	require.NoError(t, err)
	require.True(t, cancelled.Cancelled)
	require.Equal(t, "fine", ask(t, second.client, "and now?"))
	said := transcript(t, second.client)
	require.Equal(t, []string{"user: one", "assistant: fine", "user: hang"}, said[:3])
	require.Equal(t, []string{"user: and now?", "assistant: fine"}, said[len(said)-2:])
}

var errKilled = errors.New("the host was killed")

var listensOn = regexp.MustCompile(`http://[0-9.:]+`)

// startCommand runs the built command of folder as a host.
func startCommand(t *testing.T, folder string) *child {
	t.Helper()
	run := exec.CommandContext(t.Context(), filepath.Join(folder, "agenthost"), "serve")
	run.Dir = folder
	run.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder}
	return start(t, run, func(c *child) string {
		return listensOn.FindString(c.await("agenthost "))
	})
}
