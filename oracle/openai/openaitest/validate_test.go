package openaitest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle/openai/openaitest"
)

// body is a request with messages and whatever extra fields follow.
func body(messages, extra string) []byte {
	return fmt.Appendf(nil, `{"model":"m","messages":[%s],"stream":true,"stream_options":{"include_usage":true}%s}`, messages, extra)
}

const (
	user    = `{"role":"user","content":"hi"}`
	calls   = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"y","arguments":"{}"}}]}`
	resultA = `{"role":"tool","tool_call_id":"a","content":"1"}`
	resultB = `{"role":"tool","tool_call_id":"b","content":"2"}`
	tool    = `{"type":"function","function":{"name":"x","description":"d","parameters":{"type":"object","properties":{}}}}`
)

func TestValidateTakesWhatTheAPITakes(t *testing.T) {
	format := `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object","properties":{},"additionalProperties":false}}}`
	require.NoError(t, openaitest.Validate(body(user, `,"top_p":0.5,"seed":3,"reasoning_effort":"low","response_format":`+format)))
	for _, messages := range []string{
		user,
		`{"role":"system","content":"s"},` + user,
		user + "," + calls + "," + resultB + "," + resultA,
		user + "," + calls + "," + resultA + "," + resultB + `,{"role":"assistant","content":"done"},` + user,
		`{"role":"user","content":[{"type":"text","text":"t"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}`,
	} {
		require.NoError(t, openaitest.Validate(body(messages, `,"tools":[`+tool+`],"temperature":1,"max_completion_tokens":5`)), messages)
	}
}

func TestValidateRefusesMessages(t *testing.T) {
	for name, messages := range map[string]string{
		"none":               ``,
		"unknown role":       `{"role":"developer2","content":"x"}`,
		"unknown field":      `{"role":"user","content":"hi","seq":1}`,
		"field of another":   `{"role":"user","content":"hi","tool_call_id":"a"}`,
		"no content":         `{"role":"user"}`,
		"null content":       `{"role":"user","content":null}`,
		"number":             `{"role":"user","content":5}`,
		"no parts":           `{"role":"user","content":[]}`,
		"unknown part":       `{"role":"user","content":[{"type":"json","text":"x"}]}`,
		"bad image":          `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,***"}}]}`,
		"silent system":      `{"role":"system"}`,
		"silent assistant":   user + `,{"role":"assistant"}`,
		"empty calls":        user + `,{"role":"assistant","content":"x","tool_calls":[]}`,
		"open call":          user + "," + calls + "," + resultA,
		"user before result": user + "," + calls + "," + resultA + "," + user + "," + resultB,
		"result twice":       user + "," + calls + "," + resultA + "," + resultB + "," + resultB,
		"result alone":       user + "," + resultA,
		"result w/o content": user + "," + calls + "," + resultA + `,{"role":"tool","tool_call_id":"b"}`,
		"ids used twice":     user + "," + calls + "," + resultA + "," + resultB + "," + calls + "," + resultA + "," + resultB,
		"bad name":           user + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"/x/y","arguments":"{}"}}]},` + resultA,
		"args as object":     user + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":{}}}]},` + resultA,
		"args no JSON":       user + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{"}}]},` + resultA,
	} {
		require.Error(t, openaitest.Validate(body(messages, "")), name)
	}
}

func TestValidateRefusesTheRest(t *testing.T) {
	for name, extra := range map[string]string{
		"unknown field": `,"max_steps":1`,
		"no tools":      `,"tools":[]`,
		"same tool":     `,"tools":[` + tool + `,` + tool + `]`,
		"bad tool name": `,"tools":[{"type":"function","function":{"name":"a/b","parameters":{"type":"object","properties":{}}}}]`,
		"no schema":     `,"tools":[{"type":"function","function":{"name":"a"}}]`,
		"no properties": `,"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object"}}}]`,
		"temperature":   `,"temperature":3`,
		"tokens":        `,"max_completion_tokens":0`,
		"top_p":         `,"top_p":1.5`,
		"effort":        `,"reasoning_effort":"max"`,
		"format":        `,"response_format":{"type":"text2"}`,
		"open schema":   `,"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object"}}}`,
		"no object":     `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"array"}}}`,
		"trailer":       `} {`,
	} {
		require.Error(t, openaitest.Validate(body(user, extra)), name)
	}
	require.Error(t, openaitest.Validate([]byte(`{"messages":[`+user+`],"stream":true,"stream_options":{"include_usage":true}}`)))
	require.Error(t, openaitest.Validate([]byte(`{"model":"m","messages":[`+user+`]}`)))
}
