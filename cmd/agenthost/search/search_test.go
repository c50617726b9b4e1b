package search_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/search"
)

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func find(t *testing.T, o search.Order) search.Report {
	t.Helper()
	report, err := search.Run(t.Context(), o)
	require.NoError(t, err)
	return report
}

func TestATextIsFoundWhereverItLies(t *testing.T) {
	const size, text = 3<<20 + 7, "the needle in it"
	for _, at := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 - len(text), 1<<20 - len(text)/2, 2 << 20, 2<<20 - 20, size - len(text)} {
		data := bytes.Repeat([]byte{'t'}, size)
		copy(data[at:], text)
		path := write(t, filepath.Join(t.TempDir(), "file"), data)
		report := find(t, search.Order{Paths: []string{path}, Texts: []string{"not there", text}})
		require.Equal(t, search.Report{Files: 1, Bytes: size, Found: []search.Place{{Text: 1, Path: path, Offset: int64(at)}}}, report)
	}
}

func TestATextLongerThanABlockIsFound(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789"), 300_000)
	path := write(t, filepath.Join(t.TempDir(), "file"), append(bytes.Repeat([]byte{'0'}, 1_500_000), long...))
	report := find(t, search.Order{Paths: []string{path}, Texts: []string{string(long)}})
	require.Len(t, report.Found, 1)
	require.EqualValues(t, 1_500_000, report.Found[0].Offset)
}

func TestFilesOfFoldersAreSearchedAndWhatIsMissingIsNot(t *testing.T) {
	folder := t.TempDir()
	one := write(t, filepath.Join(folder, "frames", "1", "2.frames"), []byte("nothing"))
	two := write(t, filepath.Join(folder, "frames", "3", "4.frames"), []byte("and a word, a word"))
	require.Equal(t, search.Report{Files: 2, Bytes: 25, Found: []search.Place{{Path: two, Offset: 6}}},
		find(t, search.Order{Paths: []string{filepath.Join(folder, "none"), filepath.Join(folder, "frames")}, Texts: []string{"word"}}))
	require.NotEqual(t, one, two)
}

// What an encoder makes of a text, alone or as a text within another, is found.
func TestATextIsFoundAsJSONHasIt(t *testing.T) {
	const text = "Zoë said:\n\t\"<b> & </b>\" \\o/ 😀 \u2028"
	type value struct {
		Inner string `json:"inner"`
	}
	marshal := func(html bool, text string) []byte {
		var buf bytes.Buffer
		encoder := json.NewEncoder(&buf)
		encoder.SetEscapeHTML(html)
		require.NoError(t, encoder.Encode(value{"before " + text + " after"}))
		return buf.Bytes()
	}
	ascii := []byte(`{"inner": "Zo\u00eb said:\n\t\"<b> & </b>\" \\o/ \ud83d\ude00 \u2028"}`)
	for name, data := range map[string][]byte{
		"raw":                        []byte("x" + text),
		"JSON":                       marshal(false, text),
		"JSON fit for HTML":          marshal(true, text),
		"JSON in ASCII":              ascii,
		"JSON in JSON":               marshal(false, string(marshal(false, text))),
		"JSON fit for HTML in JSON":  marshal(false, string(marshal(true, text))),
		"JSON in ASCII in JSON":      marshal(false, string(ascii)),
		"JSON in JSON, fit for HTML": marshal(true, string(marshal(false, text))),
		"both of them, fit for HTML": marshal(true, string(marshal(true, text))),
	} {
		path := write(t, filepath.Join(t.TempDir(), "file"), data)
		require.Len(t, find(t, search.Order{Paths: []string{path}, Texts: []string{text}}).Found, 1, name)
		require.Empty(t, find(t, search.Order{Paths: []string{path}, Texts: []string{text + "!"}}).Found, name)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	// Its first bytes are nobody's, root's neither.
	_, err := search.Run(t.Context(), search.Order{Paths: []string{"/proc/self/mem"}, Texts: []string{"secret"}})
	require.ErrorIs(t, err, syscall.EIO)
}

func TestASearchCanBeGivenUp(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "file"), []byte("text"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := search.Run(ctx, search.Order{Paths: []string{path}, Texts: []string{"text"}})
	require.ErrorIs(t, err, context.Canceled)
}
