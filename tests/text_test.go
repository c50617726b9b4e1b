package tests

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func offlineHost() hosttest.Options { return hosttest.Options{} }

func TestCase45TextThatIsRefusedByName(t *testing.T) {
	refused := []struct{ name, request, field string }{
		{"lone high surrogate", `{"id":"1","op":"$prompt","args":{"targetKey":"k","text":"a\ud800b"}}`, "/args/text"},
		{"lone low surrogate", `{"id":"1","op":"$prompt","args":{"targetKey":"k","text":"\udc00"}}`, "/args/text"},
		{"reversed pair", `{"id":"1","op":"$prompt","args":{"targetKey":"k","text":"\ude00\ud83d"}}`, "/args/text"},
		{"lone surrogate in a field name", `{"id":"1","op":"$prompt","args":{"targetKey":"k","te\ud800":"x"}}`, ""},
		{"invalid UTF-8", "{\"id\":\"1\",\"op\":\"$prompt\",\"args\":{\"targetKey\":\"k\",\"text\":\"a\xffb\"}}", "/args/text"},
		{"cut UTF-8", "{\"id\":\"1\",\"op\":\"$prompt\",\"args\":{\"targetKey\":\"k\",\"text\":\"\xf0\x9f\x98\"}}", "/args/text"},
		{"surrogate as UTF-8", "{\"id\":\"1\",\"op\":\"$prompt\",\"args\":{\"targetKey\":\"k\",\"text\":\"\xed\xa0\x80\"}}", "/args/text"},
		{"NUL in a key", `{"id":"1","op":"$prompt","args":{"targetKey":"k\u0000","text":"x"}}`, "/args/targetKey"},
		{"NUL in a session id", `{"id":"1","op":"$prompt","args":{"sessionId":"k\u0000","text":"x"}}`, "/args/sessionId"},
		{"NUL in a request id", `{"id":"1","op":"$prompt","args":{"targetKey":"k","text":"x","requestId":"r\u0000"}}`, "/args/requestId"},
		{"lone surrogate within a json part", `{"id":"1","op":"$prompt","args":{"targetKey":"k","content":[{"type":"json","value":{"a":"\ud800"}}]}}`, "/args/content/0/value/a"},
	}
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			h := hosttest.New(t, offlineHost())
			call := caller{t, d.open(t, h)}
			call.mustPrompt("k", "first")
			for _, c := range refused {
				if d.name == "websocket" && !utf8.ValidString(c.request) {
					continue // TestCase45InvalidUTF8OverWebSocket
				}
				reply := call.send(c.request)
				require.Equal(t, sessions.CodeInvalidRequest, hosttest.Code(reply), c.name)
				if c.field != "" {
					require.Equal(t, c.field, reply.Error.Details["field"], c.name)
				}
			}
			require.Contains(t, call.mustPrompt("k", "how many messages are there?"), "3 messages")
		})
	}
}

func TestCase45InvalidUTF8OverWebSocket(t *testing.T) {
	h := hosttest.New(t, offlineHost())
	s := h.Socket()
	s.Send("{\"id\":\"1\",\"op\":\"$prompt\",\"args\":{\"targetKey\":\"k\",\"text\":\"a\xffb\"}}")
	m, err := s.TryRead()
	if err == nil { // refused by name; a library may also close the socket
		require.Equal(t, sessions.CodeInvalidRequest, hosttest.Code(m.Reply))
	}
	require.Contains(t, caller{t, httpDoor(t, h)}.mustPrompt("k", "how many messages are there?"), "1 messages")
}

func TestCase45TextThatIsStoredRight(t *testing.T) {
	texts := []string{
		"a\x00b", "\x00", "\u0001\u001f\u007f\u0085\u2028\u2029", "\ufeffbom", "\ufffd", "😀", "👩‍👩‍👧‍👦", "e\u0301",
		"<script>&amp;</script>", `"quoted" \back\slash`, "\U0010ffff", "\r\n\t", strings.Repeat("😀", 1000),
	}
	throughEveryDoor(t, offlineHost, func(h *hosttest.Host, call caller) {
		t := call.t
		for _, text := range texts {
			call.mustPrompt("k", text)
		}
		written := `{"id":"1","op":"$prompt","args":{"targetKey":"k","text":"\ud83d\ude00\u0000\/"}}`
		require.Empty(t, hosttest.Code(call.send(written)))
		requireInOrder(t, h, "k", append(texts, "😀\x00/")...)
		h.Restart()
		requireInOrder(t, h, "k", append(texts, "😀\x00/")...)
	})
}

func TestCase45PreviewIsCutBetweenCharacters(t *testing.T) {
	throughEveryDoor(t, offlineHost, func(h *hosttest.Host, call caller) {
		t := call.t
		for before := sessions.PreviewRunes - 3; before <= sessions.PreviewRunes+1; before++ {
			text := strings.Repeat("a", before) + "😀😀é" + strings.Repeat("z", 10)
			result := hosttest.Result[api.PromptResult](t, call.call(api.OpPrompt, api.PromptArgs{
				Address: api.Address{TargetKey: "k" + strings.Repeat("x", before)[:before%5]}, Text: text}))
			got := hosttest.Result[api.SessionGetResult](t, call.call(api.OpSessionGet,
				api.SessionGetArgs{Address: api.Address{SessionID: result.SessionID}}))
			require.Equal(t, string([]rune(text)[:sessions.PreviewRunes]), got.Session.Preview)
		}
	})
}

func TestCase45LongKeysAndLabelsEndBetweenCharacters(t *testing.T) {
	throughEveryDoor(t, offlineHost, func(_ *hosttest.Host, call caller) {
		t := call.t
		whole := strings.Repeat("😀", sessions.MaxKeyBytes/4)
		call.mustPrompt(whole, "hi")
		over := call.prompt(whole+"a", "hi")
		require.Equal(t, sessions.CodeInvalidRequest, hosttest.Code(over))
		require.Equal(t, "/args/targetKey", over.Error.Details["field"])

		labels := map[string]string{"l": whole}
		made := hosttest.Result[api.SessionCreateResult](t, call.call(api.OpSessionCreate,
			api.SessionCreateArgs{Address: api.Address{TargetKey: "labelled"}, Labels: labels, Title: whole}))
		require.Equal(t, labels, made.Session.Labels)
		require.Equal(t, whole, made.Session.Title)
	})
}

// Models write text of their own: what arrives of it must be what is stored,
// and a character that a provider's chunks cut in two harms nobody.
func TestCase45TextOfModelsAndTools(t *testing.T) {
	odd := "a\x00😀\u2028<&>"
	b := newBench(when("speak", scripted.Step{Deltas: []scripted.Delta{{Text: odd[:3]}, {Text: odd[3:]}}}),
		when("echo", scripted.Step{Calls: []scripted.Call{{Path: "/builtin/echo", Args: `{"text":"\ud83d\ude00\u0000"}`}}},
			scripted.Step{Text: "echoed"}),
		when("break", scripted.Step{Text: "\xff\xfe"}))
	h := hosttest.New(t, b.options(t, host.Profile{}))
	call := caller{t, socketDoor(t, h)}
	spoken := call.mustPrompt("k", "speak")
	require.True(t, utf8.ValidString(spoken))
	require.Equal(t, "echoed", call.mustPrompt("k", "echo"))
	require.Equal(t, "\ufffd", strings.TrimRight(call.mustPrompt("k", "break"), "\ufffd")+"\ufffd")

	before := b.oracle.Requests()[2].Messages
	output := before[len(before)-1].Content[0].Value
	var echoed string
	require.NoError(t, json.Unmarshal(output, &echoed))
	require.Equal(t, "😀\x00", echoed)

	h.Restart()
	require.Equal(t, "fine", caller{t, socketDoor(t, h)}.mustPrompt("k", "go on"))
	require.Len(t, b.oracle.Requests(), 5)
	reloaded := b.oracle.Requests()[4].Messages
	require.Equal(t, jsonOf(t, before), jsonOf(t, reloaded[:len(before)]))
	require.Equal(t, spoken, sessions.TextOf(reloaded[1].Content))
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}
