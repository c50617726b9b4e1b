package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// lineOf writes a frame as a line.
func lineOf(t testing.TB, seq int64, b sessions.FrameBody) []byte {
	t.Helper()
	row, err := encodeFrame(b)
	require.NoError(t, err)
	return appendLine(nil, seq, 1_750_000_000_000+sessions.Time(seq), row)
}

func TestALineIsReadAsItWasWritten(t *testing.T) {
	for _, body := range []sessions.FrameBody{
		sessions.Started{},
		sessions.TextPart{Step: 1, Text: "a\nb\r\n c \u2028 \x00 <&> ä"},
		sessions.CallEnded{CallID: "c", Output: []byte("{\n  \"a\": [1,\n 2]\n}")},
		sessions.Failed{Error: &sessions.ErrorInfo{Code: sessions.CodeInternal, Message: "a b\nc"}},
	} {
		line := lineOf(t, 7, body)
		require.Equal(t, 1, bytes.Count(line, []byte{'\n'}), "%q", line)
		require.True(t, bytes.HasSuffix(line, []byte{'\n'}))
		got, ok := parseLine(line[:len(line)-1])
		require.True(t, ok)
		require.EqualValues(t, 7, got.seq)
		require.Equal(t, sessions.Time(1_750_000_000_007), got.at)
		require.Equal(t, sessions.Frame{Body: body}.Type(), got.kind)
		row, err := encodeFrame(body)
		require.NoError(t, err)
		require.Equal(t, row.body.json, got.body)
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte("00000000 1 2 text 0 {}"))
	f.Add(bytes.TrimSuffix(lineOf(f, 3, sessions.TextPart{Text: "word"}), []byte{'\n'}))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, ok := parseLine(line)
		if !ok {
			return
		}
		again := appendLine(nil, got.seq, got.at, frameRow{kind: got.kind, messageSeq: got.messageSeq, body: body{json: got.body}})
		back, ok := parseLine(again[:len(again)-1])
		require.True(t, ok)
		require.Equal(t, got, back)
	})
}

// fileOf writes a file and opens it.
func fileOf(t *testing.T, content []byte) *frameFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "1.frames")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	f, err := openFrames(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.file.Close()) })
	return f
}

func seqsBetween(t *testing.T, f *frameFile, from, to int64) (seqs []int64) {
	t.Helper()
	require.NoError(t, f.between(from, to, func(l frameLine) error {
		seqs = append(seqs, l.seq)
		return nil
	}))
	return seqs
}

// A file may be cut anywhere: what is whole is read, and more can follow it.
func TestAFileCutAnywhereKeepsWhatIsWhole(t *testing.T) {
	var content []byte
	ends := []int{0}
	for seq := range int64(5) {
		content = append(content, lineOf(t, seq+1, sessions.TextPart{Text: strings.Repeat("x", int(seq))})...)
		ends = append(ends, len(content))
	}
	for size := range len(content) + 1 {
		whole := 0
		for whole < 5 && ends[whole+1] <= size {
			whole++
		}
		f := fileOf(t, content[:size])
		end, err := f.endBefore(100)
		require.NoError(t, err)
		require.EqualValues(t, ends[whole], end, "cut at %d", size)
		require.Len(t, seqsBetween(t, f, 1, 100), whole)
	}
}

func TestGarbageIsPassedOver(t *testing.T) {
	noise := strings.Repeat("\x00", 3000) + "\nnonsense\n00000000 2 1 text 0 {}\n\n"
	content := slicesJoin([]byte(noise), lineOf(t, 1, sessions.Started{}), []byte(noise), lineOf(t, 4, sessions.Started{}), []byte(noise))
	f := fileOf(t, content)
	require.Equal(t, []int64{1, 4}, seqsBetween(t, f, 1, 9))
	require.Equal(t, []int64{4}, seqsBetween(t, f, 2, 9))
	require.Equal(t, []int64{1}, seqsBetween(t, f, 1, 3))
}

func slicesJoin(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// A large file, with damage in several places, is entered by halving.
func TestAnyFrameOfALargeFileIsFound(t *testing.T) {
	var content []byte
	want := map[int64]bool{}
	for seq := int64(1); seq <= 20_000; seq++ {
		switch {
		case seq%5000 < 300: // lost
		case seq%1000 == 0:
			content = append(content, strings.Repeat("\x00", 100_000)...) // and the next line with it
		default:
			want[seq] = seq%1000 != 1
			content = append(content, lineOf(t, seq, sessions.TextPart{Text: fmt.Sprint(seq)})...)
		}
	}
	f := fileOf(t, content)
	for seq := int64(1); seq <= 20_000; seq += 37 {
		got := seqsBetween(t, f, seq, seq+4)
		var expected []int64
		for s := seq; s < seq+5; s++ {
			if want[s] {
				expected = append(expected, s)
			}
		}
		require.Equal(t, expected, got)
	}
}
