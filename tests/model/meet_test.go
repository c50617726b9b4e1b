package model

import (
	"os"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// requireDeletesMet checks that a prompt was answered as one of a deleted session
// only while a delete was under way: the sequential model cannot tell.
func requireDeletesMet(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	for _, o := range history {
		if o.Output.(output).code != sessions.CodeSessionDeleted {
			continue
		}
		require.True(t, slices.ContainsFunc(history, func(other porcupine.Operation) bool {
			return other.Output.(output) == output{did: true} && other.Call < o.Return && o.Call < other.Return
		}), "%v meets no delete", o)
	}
}

// writeHistory draws a history that is not linearizable, for a browser.
func writeHistory(info porcupine.LinearizationInfo) (string, error) {
	file, err := os.CreateTemp("", "history-*.html")
	if err != nil {
		return "", err
	}
	if err := porcupine.Visualize(linear, info, file); err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}
