package repl

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// maxShown is how many levels of a value are shown, as prelude.js has it.
const maxShown = 40

// deflated compresses bytes that are all the same.
func deflated(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write(bytes.Repeat([]byte{7}, n))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// Who changes the shim or the recipe builds the engine again.
func TestTheEngineIsWhatItsRecipeGave(t *testing.T) {
	sums, err := os.ReadFile("engine/SHA256SUMS")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(sums)), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		want, name, _ := strings.Cut(line, "  ")
		text, err := os.ReadFile("engine/" + name)
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		require.Equal(t, want, hex.EncodeToString(sum[:]), name)
	}
}

// A state is good for another process only if that begins as the same bytes.
func TestEnginesBeginAlike(t *testing.T) {
	a, b := engine{pages: 1024}, engine{pages: 512}
	require.NoError(t, a.prepare())
	require.NoError(t, b.prepare())
	require.True(t, bytes.Equal(a.fresh, b.fresh))
	require.Equal(t, a.name, b.name)
}
