package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A turn that has ended while a chat asks about it is not run again, also when its
// request is forgotten.
func TestAChatDoesNotSendItsPromptAgain(t *testing.T) {
	p := newProgram(t)
	settings := "oracles: {o: {provider: offline}}\ndedupTTL: 1ms\n" +
		"profiles: {default: {needsApproval: [/builtin/echo], waitTimeout: 1s}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(p.folder, "agenthost.yaml"), []byte(settings), 0o600))
	p.serve()
	x := openTerminal(t, p.command("chat", "--target", "demo"))
	for _, answer := range []string{"c", "y"} {
		x.sees("> ")
		x.types("/call builtin/echo {\"text\":\"one\"}\r")
		x.sees("Approve? y or n")
		require.NoError(t, await(func() bool {
			shown, _ := p.run("sessions", "show", "--target", "demo", "--json")
			return regexp.MustCompile(`"status": ?"failed"`).MatchString(shown)
		}))
		x.types(answer + "\r")
		x.sees("AGENT_TIMEOUT: ")
	}
	x.sees("> ")
	x.types("\x04")
	require.NoError(t, x.program.Wait())
	messages, _ := p.run("sessions", "messages", "--target", "demo", "--json")
	require.Equal(t, 2, strings.Count(messages, `"role": "user"`)+strings.Count(messages, `"role":"user"`))
}
