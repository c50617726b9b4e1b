package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testText stores texts that are easily spoilt.
func testText(t *testing.T, f Factory) {
	for name, text := range map[string]string{
		"NUL":             "before\x00after",
		"only NUL":        "\x00",
		"emoji":           "👩‍👩‍👧‍👦 and 🏳️‍🌈",
		"line separators": "a\u2028b\u2029c",
		"HTML":            `<script>&amp;</script>`,
		"quotes":          "\"'`\\",
		"control":         "\x01\x02\x1b[0m\r\n\t\x7f",
		"byte order mark": "\ufeffx",
		"replacement":     "\ufffd",
		"noncharacter":    "\uffff\U0010ffff",
		"SQL":             "'; DROP TABLE sessions; --",
		"empty":           "",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, f)
			s := w.create(sessions.CreateSession{Title: text, Labels: map[string]string{"k": text}})
			a := w.accept(w.prompt(addressOf(s), text))
			raw, err := json.Marshal(map[string]string{"v": text})
			require.NoError(t, err)
			c := w.answer(a, text)
			c.Messages[0].Content = append(c.Messages[0].Content, sessions.Content{Type: sessions.ContentJSON, Value: raw})
			c.Messages[0].ToolCalls = []sessions.ToolCall{{ID: "c", Path: "p", Args: raw}}
			c.Frames = []sessions.FrameBody{sessions.TextPart{Text: text}, sessions.MessageAppended{Message: c.Messages[0]}}
			c.State = map[string]json.RawMessage{"s": raw}
			done := w.commit(c)

			got := w.get(addressOf(s))
			require.Equal(t, text, got.Title)
			require.Equal(t, text, got.Labels["k"])
			require.Equal(t, sessions.Preview(sessions.Text(text)), got.Preview)
			history := w.history(s.Fence.Incarnation)
			require.Equal(t, text, sessions.TextOf(history[0].Content))
			require.Equal(t, c.Messages[0].Content, history[1].Content)
			require.Equal(t, c.Messages[0].ToolCalls, history[1].ToolCalls)
			require.Equal(t, append(a.Frames, done.Frames...), w.frames(s.Fence.Incarnation))
			state, err := w.store.State(t.Context(), s.Fence.Incarnation, "s")
			require.NoError(t, err)
			require.Equal(t, json.RawMessage(raw), state["s"].Value)
		})
	}
}
