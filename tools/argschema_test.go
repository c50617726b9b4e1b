package tools

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

const orderSchema = `{
	"type": "object",
	"properties": {
		"id":    {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
		"limit": {"type": "integer", "minimum": 1, "maximum": 100},
		"kind":  {"enum": ["open", "closed"]},
		"tags":  {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
		"pair":  {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "maxItems": 2},
		"range": {"$ref": "#/$defs/range"},
		"a/b~c": {"type": "boolean"},
		"any":   {"anyOf": [{"type": "string"}, {"type": "null"}]},
		"meta":  {"type": "object", "additionalProperties": {"type": "number"}}
	},
	"required": ["id"],
	"additionalProperties": false,
	"$defs": {
		"range": {"type": "object", "properties": {"from": {"type": "integer"}, "inner": {"$ref": "#/$defs/range"}}, "required": ["from"]}
	}
}`

func mountSchema(t *testing.T, schema string) *Mounted {
	t.Helper()
	var tree Tree
	require.NoError(t, tree.Mount("/tool", fakeTool{schema}))
	m, _ := tree.Lookup("/tool")
	return m
}

func failureOf(t *testing.T, err error) string {
	t.Helper()
	failure, ok := errors.AsType[*Failure](err)
	require.True(t, ok, "%v is no Failure", err)
	return failure.Message
}

func TestCheckArgsAccepts(t *testing.T) {
	m := mountSchema(t, orderSchema)
	for _, args := range []string{
		`{"id":"a"}`,
		` {"id":"a","limit":1,"kind":"open","tags":["x","y"],"pair":["a",2.5]} `,
		`{"id":"a","limit":3.0,"range":{"from":1,"inner":{"from":2}},"a/b~c":true,"any":null,"meta":{"x":1}}`,
	} {
		require.NoError(t, m.CheckArgs([]byte(args)), args)
	}
}

func TestCheckArgsNamesTheArgumentAndTheRule(t *testing.T) {
	m := mountSchema(t, orderSchema)
	for args, want := range map[string]string{
		`{"id":7}`:                             `The argument "/id" must satisfy the schema's "type" of "string".`,
		`{"id":"A"}`:                           `The argument "/id" must satisfy the schema's "pattern" of "^[a-z]+$".`,
		`{"id":"aaaaaaaaa"}`:                   `The argument "/id" must satisfy the schema's "maxLength" of 8.`,
		`{"id":"a","limit":0}`:                 `The argument "/limit" must satisfy the schema's "minimum" of 1.`,
		`{"id":"a","limit":1.5}`:               `The argument "/limit" must satisfy the schema's "type" of "integer".`,
		`{"id":"a","kind":"x"}`:                `The argument "/kind" must satisfy the schema's "enum" of ["open","closed"].`,
		`{"id":"a","tags":["x",1]}`:            `The argument "/tags/*" must satisfy the schema's "type" of "string".`,
		`{"id":"a","tags":["x","x"]}`:          `The argument "/tags" must satisfy the schema's "uniqueItems" of true.`,
		`{"id":"a","pair":["x","y"]}`:          `The argument "/pair/1" must satisfy the schema's "type" of "number".`,
		`{"id":"a","range":{}}`:                `The argument "/range" must also have ["from"].`,
		`{"id":"a","range":{"from":"x"}}`:      `The argument "/range/from" must satisfy the schema's "type" of "integer".`,
		`{"id":"a","a/b~c":1}`:                 `The argument "/a~1b~0c" must satisfy the schema's "type" of "boolean".`,
		`{"id":"a","any":1}`:                   `The argument "/any" must satisfy the schema's "anyOf" of [{"type":"string"},{"type":"null"}].`,
		`{"id":"a","meta":{"x":"y"}}`:          `The argument "/meta/*" must satisfy the schema's "type" of "number".`,
		`{}`:                                   `The arguments must also have ["id"].`,
		`{"id":"a","surprise":1}`:              `The arguments must not have ["surprise"].`,
		`{"id":"a","id":"b"}`:                  `The argument "/id" is given twice.`,
		`{"id":"a","meta":{"x":1,"\u0078":2}}`: `The argument "/meta/x" is given twice.`,
		`{"id":"a","tags":[{"b/":1,"b/":2}]}`:  `The argument "/tags/0/b~1" is given twice.`,
		`{"id":"a","limit":1e999}`:             `The argument "/limit" cannot hold a number of this size.`,
		`{"id":"a","range":{"from":1,"inner":{"from":1,"inner":{"from":"x"}}}}`: `The argument "/range/inner/inner/from" must satisfy the schema's "type" of "integer".`,
	} {
		require.Equal(t, want, failureOf(t, m.CheckArgs([]byte(args))), args)
	}
}

func TestCheckArgsUnderARootWithID(t *testing.T) {
	m := mountSchema(t, `{"$id":"http://example.org/tool","properties":{"a":{"properties":{"b":{"const":1}}}}}`)
	require.Equal(t, `The argument "/a/b" must satisfy the schema's "const" of 1.`, failureOf(t, m.CheckArgs([]byte(`{"a":{"b":2}}`))))
}

func TestCheckArgsWantsOneObject(t *testing.T) {
	m := mountSchema(t, "")
	require.NoError(t, m.CheckArgs([]byte(`{"anything":[1,{"x":null}]}`)))
	for _, args := range []string{
		"", " ", "null", "[]", "1", `"x"`, "true", "{", "{}{}", "{} x", `{"a":}`, `{a:1}`, `{"a":1,}`, "{\"a\":\"\xff\"}",
		strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000),
	} {
		require.Contains(t, failureOf(t, m.CheckArgs([]byte(args))), "one JSON object", "%.40q", args)
	}
}

func TestFailuresStayShort(t *testing.T) {
	m := mountSchema(t, orderSchema)
	long := strings.Repeat("é", 100_000)
	for _, args := range []string{
		`{"id":"` + long + `"}`, `{"id":"a","` + long + `":1}`, `{"` + long + `":1,"` + long + `":1}`,
		`{"id":"a","any":` + strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000) + `}`,
		`{"id":"a","tags":` + strings.Repeat(`{"k":`, 5000) + `{"x":1,"x":2}` + strings.Repeat(`}`, 5001),
	} {
		message := failureOf(t, m.CheckArgs([]byte(args)))
		require.Less(t, len(message), 600)
		require.Equal(t, strings.ToValidUTF8(message, ""), message)
	}
}

func TestMountCompletesTheType(t *testing.T) {
	m := mountSchema(t, `{"properties":{"a":{"type":"string"}}}`)
	require.JSONEq(t, `{"type":"object","properties":{"a":{"type":"string"}}}`, string(m.Spec.Schema))
	require.Error(t, m.CheckArgs([]byte(`{"a":1}`)))
}

func TestMountTakesUsualSchemas(t *testing.T) {
	for _, schema := range []string{
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a"}}}`,
		`{"type":"object","properties":{"child":{"$ref":"#"}}}`,
		`{"type":"object","properties":{"$ref":{"type":"string"},"$id":{"type":"string"},"not":{"$ref":"#"}}}`,
		`{"type":"object","default":{"$ref":"http://example.org"}}`,
		`{"type":"object","$id":"http://example.org/tool"}`,
	} {
		require.NoError(t, mountSchema(t, schema).CheckArgs([]byte(`{}`)), schema)
	}
}

func TestMountRefusesBadSchemas(t *testing.T) {
	for _, schema := range []string{
		`nonsense`, `null`, `[]`, `true`, `"object"`, `{"type":"string"}`, `{"type":["object","null"]}`,
		`{"type":"object","properties":{"a":{"type":7}}}`,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`,
		`{"type":"object","properties":{"a":null}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`,
		`{"$schema":7,"type":"object"}`,
		`{"$schema":[],"type":"object"}`,
		`{"type":"object","$ref":"http://example.org/other"}`,
		`{"type":"object","$ref":"other.json"}`,
		`{"type":"object","$ref":"#/$defs/missing"}`,
		`{"type":"object","$ref":"#anchor"}`,
		`{"type":"object","$dynamicRef":"#a"}`,
		`{"type":"object","properties":{"a":{"$id":"http://example.org/a"}}}`,
		// Circles that never go further into the arguments.
		`{"type":"object","$ref":"#"}`,
		`{"type":"object","allOf":[{"$ref":"#"}]}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"not":{"$ref":"#/$defs/b"}}]},"b":{"if":{"$ref":"#/$defs/%61"}}}}`,
		`{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}`,
	} {
		err := new(Tree).Mount("/tool", fakeTool{schema})
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), schema)
		require.ErrorContains(t, err, "/tool")
	}
}

// The reader of schemas takes keywords in any case, so a circle is one however its
// keywords are written; it would overflow the validator's stack.
func TestACircleIsRefusedInWhateverCaseItIsWritten(t *testing.T) {
	for _, schema := range []string{
		`{"allOf":[{"$ref":"#"}]}`, `{"AllOf":[{"$ref":"#"}]}`, `{"ALLOF":[{"$REF":"#"}]}`,
		`{"Not":{"$ref":"#"}}`, `{"anyof":[{"$Ref":"#/$Defs/a"}],"$Defs":{"a":{"OneOf":[{"$ref":"#"}]}}}`,
	} {
		var tree Tree
		require.Error(t, tree.Mount("/tool", fakeTool{schema}), schema)
	}
}

func FuzzCheckArgs(f *testing.F) {
	f.Add(orderSchema, `{"id":"a","limit":3}`)
	f.Add(`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"minProperties":1}}}`, `{}`)
	f.Add(`{"type":"object","unevaluatedProperties":false,"dependentRequired":{"a":["b"]}}`, `{"a":1}`)
	f.Add(`{"oneOf":[{"required":["a"]},{"if":{"const":{}},"then":false}],"patternProperties":{"^x":{"multipleOf":0}}}`, `{"xa":7}`)
	f.Add(`{"properties":{"a":{"contains":{"type":"number"},"minContains":2,"items":false},"b":{"exclusiveMinimum":1e300}}}`, `{"a":[1,2],"b":-1e300}`)
	f.Add(`{"AllOf":[{"$ref":"#"}],"":{"":{}}}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		var tree Tree
		if tree.Mount("/tool", fakeTool{schema}) != nil {
			return
		}
		m, _ := tree.Lookup("/tool")
		if err := m.CheckArgs([]byte(args)); err != nil {
			require.Less(t, len(failureOf(t, err)), 1000)
		}
	})
}
