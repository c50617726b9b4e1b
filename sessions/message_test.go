package sessions_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

var mixed = []sessions.Content{
	{Type: sessions.ContentText, Text: "look: "},
	{Type: sessions.ContentImage, MediaType: "image/png", Data: "AAAA"},
	{Type: sessions.ContentImage, MediaType: "image/png", URL: "https://x"},
	{Type: sessions.ContentJSON, Value: json.RawMessage(`{"a":1}`)},
	{Type: sessions.ContentText, Text: "there"},
}

func TestTextOf(t *testing.T) {
	require.Equal(t, "", sessions.TextOf(nil))
	require.Equal(t, "hi", sessions.TextOf(sessions.Text("hi")))
	require.Equal(t, "look: there", sessions.TextOf(mixed))
	require.Equal(t, "", sessions.TextOf(mixed[1:2]))
}

func TestContentBytesCountsWhatTakesRoom(t *testing.T) {
	require.Zero(t, sessions.ContentBytes(nil))
	require.Equal(t, int64(len("look: ")+len("AAAA")+len("https://x")+len(`{"a":1}`)+len("there")), sessions.ContentBytes(mixed))
	require.Equal(t, int64(2), sessions.ContentBytes(sessions.Text("é")), "bytes, not characters")
}

func TestPreviewCutsBetweenCharacters(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", 240)} {
		require.Equal(t, text, sessions.Preview(sessions.Text(text)))
	}
	for _, char := range []string{"x", "é", "日", "🚀"} {
		preview := sessions.Preview(sessions.Text(strings.Repeat(char, 241)))
		require.Equal(t, strings.Repeat(char, 240), preview)
		require.True(t, utf8.ValidString(preview))
	}
	require.Equal(t, "look: there", sessions.Preview(mixed))
}

func TestDefaultLimitsAreAllSet(t *testing.T) {
	raw, err := json.Marshal(sessions.DefaultLimits())
	require.NoError(t, err)
	var values map[string]int64
	require.NoError(t, json.Unmarshal(raw, &values))
	for name, value := range values {
		require.Positive(t, value, name)
	}
}

func TestMessagesAlwaysShowAListOfContent(t *testing.T) {
	for _, content := range [][]sessions.Content{nil, {}} {
		data, err := json.Marshal(sessions.Message{Seq: 1, Role: sessions.RoleAssistant, Content: content})
		require.NoError(t, err)
		require.JSONEq(t, `{"seq":1,"role":"assistant","content":[]}`, string(data))
	}
}
