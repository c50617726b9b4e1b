package tests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
	"agenthost/tools"
)

// shellTool runs a script in a process group of its own, all of which is killed
// when the call ends. The script's shell writes its pid to the file named first.
func shellTool(script string, args ...string) tools.Tool {
	return tools.MustFunc("Runs a script.", func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
		command := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...)
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
		return "", command.Run()
	})
}

// Field case 38: a tool runs "sleep 60; touch f". After a cancel there is no
// process left of it, and no file.
func TestCase38CancelledToolLeavesNoProcess(t *testing.T) {
	const shellPath = hosttest.ToolRoot + "/shell"
	for name, sent := range map[string]func(t *testing.T, h *hosttest.Host){
		"cancel": func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			got, err := h.Client.Cancel(t.Context(), api.CancelArgs{Address: atK})
			require.NoError(t, err)
			require.True(t, got.Cancelled)
		},
		"delete": func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			got, err := h.Client.SessionDelete(t.Context(), api.SessionDeleteArgs{Address: atK})
			require.NoError(t, err)
			require.True(t, got.Deleted)
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			pidFile, made := filepath.Join(folder, "pid"), filepath.Join(folder, "f")
			b := newBench(when("work", calls(shellPath)))
			o := b.options(t, host.Profile{})
			require.NoError(t, o.Config.Tools.Mount(shellPath, shellTool(`echo $$ > "$1.new"; mv "$1.new" "$1"; sleep 60; touch "$2"`, pidFile, made)))
			h := hosttest.New(t, o)
			running := background(func() (*api.PromptResult, error) { return h.Client.Prompt(t.Context(), work(), nil) })
			var text []byte
			require.Eventually(t, func() (read bool) {
				var err error
				text, err = os.ReadFile(pidFile)
				return err == nil
			}, hosttest.Patience, eventTick)
			group, err := strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(-group, 0), "the script runs")

			sent(t, h)
			require.Error(t, (<-running).err)
			require.Eventually(t, func() bool { return syscall.Kill(-group, 0) == syscall.ESRCH }, hosttest.Patience, eventTick,
				"a process of the tool is left")
			require.NoFileExists(t, made)
			if name == "cancel" {
				require.Equal(t, "fine", ask(t, h.Client, "and now?"))
				turns := turnsOf(t, h)
				require.Equal(t, sessions.TurnIsCancelled, turns[len(turns)-1].Status)
			}
		})
	}
}
