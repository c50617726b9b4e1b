package strictjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// FuzzDecode holds that Decode never panics, gives every refusal a code and a
// field, and accepts only what encoding/json reads with the same meaning.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"text":"a\u0000\ud83d\ude00"}`, `{"n":1,"\u006e":2}`, `{"n":1.0}`, `{"raw":{"a":[1e999,"\ud800"]}}`,
		`{"list":[{"name":"a","count":-0}]}`, `{"status":"local","parent":null,"at":"2026-01-01T00:00:00Z"}`,
		`{"labels":{"a/b":"~"},"values":{"x": [ ] },"any":{"k":1}}`, "{\"text\":\"\xff\"}", `{"raw":` + string(bytes.Repeat([]byte("["), 200)),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var raw json.RawMessage
		rawErr := strictjson.Decode(data, "", &raw)
		if rawErr == nil {
			require.True(t, json.Valid(data), "%q", data)
			require.Equal(t, string(bytes.Trim(data, " \t\r\n")), string(raw))
		}
		var got, want sample
		err := strictjson.Decode(data, "", &got)
		if err != nil {
			require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), "%v", err)
			require.Contains(t, sessions.AsError(err).Details, "field")
			return
		}
		require.NoError(t, rawErr)
		require.NoError(t, json.Unmarshal(data, &want), "%q", data)
		// null is the one place where the two differ on purpose.
		if !bytes.Contains(data, []byte("null")) {
			require.Equal(t, marshal(t, want), marshal(t, got), "%q", data)
		}
	})
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
