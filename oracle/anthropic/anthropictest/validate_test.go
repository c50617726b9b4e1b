package anthropictest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle/anthropic/anthropictest"
)

// body is a request with messages and whatever extra fields follow.
func body(messages, extra string) []byte {
	return fmt.Appendf(nil, `{"model":"m","max_tokens":5,"messages":[%s],"stream":true%s}`, messages, extra)
}

func message(role, blocks string) string {
	return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, blocks)
}

const (
	text    = `{"type":"text","text":"hi"}`
	callA   = `{"type":"tool_use","id":"a","name":"x","input":{}}`
	callB   = `{"type":"tool_use","id":"b","name":"y","input":{"n":1}}`
	resultA = `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"}]}`
	resultB = `{"type":"tool_result","tool_use_id":"b","is_error":true}`
	tool    = `{"name":"x","description":"d","input_schema":{"type":"object","properties":{}}}`
	mark    = `"cache_control":{"type":"ephemeral"}`
)

var (
	user  = message("user", text)
	calls = user + "," + message("assistant", callA+","+callB) + ","
)

func TestValidateTakesWhatTheAPITakes(t *testing.T) {
	for _, messages := range []string{
		user,
		calls + message("user", resultB+","+resultA),
		calls + message("user", resultA+","+resultB+","+text) + "," + message("assistant", text) + "," + user,
		message("user", text+`,{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},`+
			`{"type":"image","source":{"type":"url","url":"https://x/y"},`+mark+`}`),
	} {
		require.NoError(t, anthropictest.Validate(body(messages, `,"tools":[`+tool+`],`+mark+`,"system":[{"type":"text","text":"s",`+mark+`}],`+
			`"output_config":{"effort":"max","format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false}}}`)), messages)
	}
}

func TestValidateRefusesMessages(t *testing.T) {
	for name, messages := range map[string]string{
		"none":               ``,
		"content as string":  `{"role":"user","content":"hi"}`,
		"no blocks":          message("user", ""),
		"assistant first":    message("assistant", text) + "," + user,
		"assistant last":     user + "," + message("assistant", text),
		"user twice":         user + "," + user,
		"system":             user + "," + message("system", text),
		"unknown field":      `{"role":"user","content":[` + text + `],"seq":1}`,
		"field of another":   message("user", `{"type":"text","text":"hi","id":"a"}`),
		"blank text":         message("user", `{"type":"text","text":" \n"}`),
		"unknown block":      message("user", `{"type":"json","text":"x"}`),
		"call of the user":   message("user", callA),
		"bad image":          message("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"***"}}`),
		"image of a file":    message("user", `{"type":"image","source":{"type":"url","url":"file:///x"}}`),
		"image of nothing":   message("user", `{"type":"image","source":{"type":"text"}}`),
		"open call":          calls + message("user", resultA),
		"text before result": calls + message("user", resultA+","+text+","+resultB),
		"image before one":   calls + message("user", resultA+`,{"type":"image","source":{"type":"url","url":"https://x"}},`+resultB),
		"result twice":       calls + message("user", resultA+","+resultB+","+resultB),
		"result alone":       message("user", resultA),
		"blank result":       calls + message("user", resultA+`,{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":""}]}`),
		"ids used twice":     calls + message("user", resultA+","+resultB) + "," + message("assistant", callA) + "," + message("user", resultA),
		"bad id":             user + "," + message("assistant", `{"type":"tool_use","id":"a b","name":"x","input":{}}`) + "," + user,
		"bad name":           user + "," + message("assistant", `{"type":"tool_use","id":"a","name":"/x","input":{}}`) + "," + message("user", resultA),
		"no input":           user + "," + message("assistant", `{"type":"tool_use","id":"a","name":"x"}`) + "," + message("user", resultA),
		"input as string":    user + "," + message("assistant", `{"type":"tool_use","id":"a","name":"x","input":"{}"}`) + "," + message("user", resultA),
		"text after a call":  user + "," + message("assistant", callA+","+text) + "," + message("user", resultA),
	} {
		require.Error(t, anthropictest.Validate(body(messages, "")), name)
	}
}

func TestValidateRefusesTheRest(t *testing.T) {
	for name, extra := range map[string]string{
		"unknown field":  `,"max_steps":1`,
		"temperature":    `,"temperature":1`,
		"no tools":       `,"tools":[]`,
		"same tool":      `,"tools":[` + tool + `,` + tool + `]`,
		"bad tool name":  `,"tools":[{"name":"a/b","input_schema":{"type":"object"}}]`,
		"no schema":      `,"tools":[{"name":"a"}]`,
		"array schema":   `,"tools":[{"name":"a","input_schema":{"type":"array"}}]`,
		"blank system":   `,"system":[{"type":"text","text":""}]`,
		"another mark":   `,"cache_control":{"type":"eternal"}`,
		"too many marks": `,"system":[{"type":"text","text":"s",` + mark + `},{"type":"text","text":"s",` + mark + `},{"type":"text","text":"s",` + mark + `},{"type":"text","text":"s",` + mark + `}],` + mark,
		"effort":         `,"output_config":{"effort":"none"}`,
		"open schema":    `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`,
		"format":         `,"output_config":{"format":{"type":"xml","schema":{"type":"object","additionalProperties":false}}}`,
		"trailer":        `} {`,
	} {
		require.Error(t, anthropictest.Validate(body(user, extra)), name)
	}
	require.Error(t, anthropictest.Validate([]byte(`{"max_tokens":5,"messages":[`+user+`],"stream":true}`)))
	require.Error(t, anthropictest.Validate([]byte(`{"model":"m","max_tokens":5,"messages":[`+user+`]}`)))
	require.Error(t, anthropictest.Validate([]byte(`{"model":"m","messages":[`+user+`],"stream":true}`)))
}
