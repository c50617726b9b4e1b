package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
)

func TestTheBoundsOfCells(t *testing.T) {
	require.Equal(t, config.REPL{Timeout: 5 * time.Second, MemoryBytes: 64 << 20}, mustLoad(t, "", nil).REPL)
	c := mustLoad(t, "repl: {timeout: 500ms}", []string{"AGENTHOST_REPL_MEMORY_BYTES=8388608"})
	require.Equal(t, config.REPL{Timeout: 500 * time.Millisecond, MemoryBytes: 8 << 20}, c.REPL)
	for _, file := range []string{"repl: {timeout: 0}", "repl: {memoryBytes: 100}", "repl: {memoryBytes: 100000000000}", "repl: {memory: 1}"} {
		_, err := load(t, file, nil)
		require.Error(t, err, file)
	}
}
