package strictjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

type inner struct {
	Name  string `json:"name"`
	Count *int   `json:"count,omitempty"`
}

type base struct {
	ID string `json:"id,omitempty" strict:"nonempty"`
}

type sample struct {
	base
	Text   string                                  `json:"text"`
	N      int                                     `json:"n"`
	Big    int64                                   `json:"big"`
	Ratio  *float64                                `json:"ratio"`
	Flag   bool                                    `json:"flag"`
	List   []inner                                 `json:"list"`
	Labels map[string]string                       `json:"labels"`
	Values map[string]json.RawMessage              `json:"values"`
	Raw    json.RawMessage                         `json:"raw"`
	Parent strictjson.Nullable[string]             `json:"parent,omitzero"`
	Status strictjson.OneOrMany[sessions.Location] `json:"status"`
	At     sessions.Time                           `json:"at"`
	Any    map[string]any                          `json:"any"`
	Hidden string                                  `json:"-"`
}

func decode(data string) (sample, error) {
	var s sample
	err := strictjson.Decode([]byte(data), "/args", &s)
	return s, err
}

// requireField asserts INVALID_REQUEST about the pointer.
func requireField(t *testing.T, err error, pointer string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err), "%v", err)
	require.Equal(t, pointer, sessions.AsError(err).Details["field"], "%v", err)
}

func TestDecodeReadsEveryType(t *testing.T) {
	got, err := decode(` {"id":"a","text":"x\u0000\ud83d\ude00\n\"\/","n":-5,"big":9223372036854775807,"ratio":-1.5e-1,"flag":true,
		"list":[{"name":"one","count":1},{"name":"two"}],"labels":{"a":"b"},"values":{"v": {"k" : 1.0e3}},
		"raw": [1.50, "\u0041"] ,"parent":"p","status":["local","remote"],"at":"2026-01-02T03:04:05.678Z","any":{"x":[1,null,true]}} `)
	require.NoError(t, err)
	require.Equal(t, "a", got.ID)
	require.Equal(t, "x\x00\U0001F600\n\"/", got.Text)
	require.Equal(t, -5, got.N)
	require.Equal(t, int64(9223372036854775807), got.Big)
	require.Equal(t, new(-0.15), got.Ratio)
	require.True(t, got.Flag)
	require.Equal(t, []inner{{Name: "one", Count: new(1)}, {Name: "two"}}, got.List)
	require.Equal(t, map[string]string{"a": "b"}, got.Labels)
	require.Equal(t, `{"k" : 1.0e3}`, string(got.Values["v"]))
	require.Equal(t, `[1.50, "\u0041"]`, string(got.Raw))
	require.Equal(t, strictjson.Of("p"), got.Parent)
	require.Equal(t, strictjson.OneOrMany[sessions.Location]{sessions.Local, sessions.Remote}, got.Status)
	require.Equal(t, "2026-01-02T03:04:05.678Z", got.At.String())
	require.Equal(t, map[string]any{"x": []any{json.Number("1"), nil, true}}, got.Any)
}

func TestNullMeansAbsent(t *testing.T) {
	got, err := decode(`{"id":null,"text":null,"n":null,"flag":null,"list":null,"labels":{"gone":null,"kept":""},
		"values":{"gone":null},"raw":null,"status":null,"at":null,"any":null}`)
	require.NoError(t, err)
	require.Equal(t, sample{Labels: map[string]string{"kept": ""}, Values: map[string]json.RawMessage{}}, got)
}

func TestNullableTellsThreeCases(t *testing.T) {
	absent, err := decode(`{}`)
	require.NoError(t, err)
	require.True(t, absent.Parent.IsZero())
	require.False(t, absent.Parent.IsNull())

	null, err := decode(`{"parent":null}`)
	require.NoError(t, err)
	require.False(t, null.Parent.IsZero())
	require.True(t, null.Parent.IsNull())

	value, err := decode(`{"parent":""}`)
	require.NoError(t, err)
	require.False(t, value.Parent.IsNull())
	require.False(t, value.Parent.IsZero())
	_, given := value.Parent.Value()
	require.True(t, given)
	_, given = null.Parent.Value()
	require.False(t, given)

	for _, s := range []sample{absent, null, value} {
		out, err := json.Marshal(s)
		require.NoError(t, err)
		var back sample
		require.NoError(t, json.Unmarshal(out, &back))
		require.Equal(t, s.Parent, back.Parent, "%s", out)
	}
}

func TestOneOrManyTakesOne(t *testing.T) {
	got, err := decode(`{"status":"local"}`)
	require.NoError(t, err)
	require.Equal(t, strictjson.OneOrMany[sessions.Location]{sessions.Local}, got.Status)

	var plain struct {
		Status strictjson.OneOrMany[string] `json:"status"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"status":"x"}`), &plain))
	require.Equal(t, strictjson.OneOrMany[string]{"x"}, plain.Status)
}

func TestRawIsACopy(t *testing.T) {
	data := []byte(`{"raw":{"a":1}}`)
	var s sample
	require.NoError(t, strictjson.Decode(data, "", &s))
	data[8] = 'X'
	require.Equal(t, `{"a":1}`, string(s.Raw))
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ data, field string }{
		"nothing":                  {``, "/args"},
		"only space":               {"  ", "/args"},
		"null":                     {`null`, "/args"},
		"a list":                   {`[]`, "/args"},
		"byte order mark":          {"\ufeff{}", "/args"},
		"trailing value":           {`{} {}`, "/args"},
		"trailing bracket":         {`{}}`, "/args"},
		"trailing NUL":             {"{}\x00", "/args"},
		"cut object":               {`{`, "/args"},
		"cut after name":           {`{"text"`, "/args/text"},
		"cut after colon":          {`{"text":`, "/args/text"},
		"cut in string":            {`{"text":"abc`, "/args/text"},
		"trailing comma":           {`{"n":1,}`, "/args"},
		"trailing comma in list":   {`{"list":[{"name":"a"},]}`, "/args/list/1"},
		"missing comma":            {`{"n":1 "flag":true}`, "/args"},
		"missing colon":            {`{"n" 1}`, "/args/n"},
		"name without quotes":      {`{n:1}`, "/args"},
		"single quotes":            {`{'n':1}`, "/args"},
		"comment":                  {`{/**/}`, "/args"},
		"unknown field":            {`{"nope":1}`, "/args/nope"},
		"unknown empty name":       {`{"":1}`, "/args/"},
		"unknown with escapes":     {`{"a/b~c":1}`, "/args/a~1b~0c"},
		"other case":               {`{"Text":"x"}`, "/args/Text"},
		"hidden field":             {`{"Hidden":"x"}`, "/args/Hidden"},
		"unknown nested":           {`{"list":[{"name":"a"},{"x":1}]}`, "/args/list/1/x"},
		"duplicate":                {`{"n":1,"n":1}`, "/args/n"},
		"duplicate by escape":      {`{"n":1,"\u006e":1}`, "/args/n"},
		"duplicate of null":        {`{"n":null,"n":1}`, "/args/n"},
		"duplicate in raw":         {`{"raw":{"a":{"b":1,"b":2}}}`, "/args/raw/a/b"},
		"duplicate in raw list":    {`{"raw":[0,{"/":1,"/":2}]}`, "/args/raw/1/~1"},
		"duplicate label":          {`{"labels":{"a":"1","a":"2"}}`, "/args/labels/a"},
		"duplicate in any":         {`{"any":{"a":1,"a":2}}`, "/args/any/a"},
		"number for string":        {`{"text":1}`, "/args/text"},
		"string for int":           {`{"n":"1"}`, "/args/n"},
		"fraction":                 {`{"n":1.0}`, "/args/n"},
		"exponent":                 {`{"n":1e3}`, "/args/n"},
		"capital exponent":         {`{"n":1E3}`, "/args/n"},
		"above int64":              {`{"big":9223372036854775808}`, "/args/big"},
		"below int64":              {`{"big":-9223372036854775809}`, "/args/big"},
		"string for number":        {`{"ratio":"1"}`, "/args/ratio"},
		"above float64":            {`{"ratio":1e400}`, "/args/ratio"},
		"half a number":            {`{"ratio":.5}`, "/args/ratio"},
		"nested int":               {`{"list":[{"count":true}]}`, "/args/list/0/count"},
		"leading zero":             {`{"n":01}`, "/args"},
		"plus":                     {`{"n":+1}`, "/args/n"},
		"only minus":               {`{"n":-}`, "/args/n"},
		"ends in dot":              {`{"raw":1.}`, "/args/raw"},
		"ends in e":                {`{"raw":1e}`, "/args/raw"},
		"NaN":                      {`{"raw":NaN}`, "/args/raw"},
		"string for bool":          {`{"flag":"true"}`, "/args/flag"},
		"number for bool":          {`{"flag":1}`, "/args/flag"},
		"cut literal":              {`{"flag":tru}`, "/args/flag"},
		"long literal":             {`{"flag":truely}`, "/args"},
		"long null":                {`{"raw":nullx}`, "/args"},
		"object for list":          {`{"list":{}}`, "/args/list"},
		"list for map":             {`{"labels":[]}`, "/args/labels"},
		"null element":             {`{"list":[null]}`, "/args/list/0"},
		"number as label":          {`{"labels":{"a":1}}`, "/args/labels/a"},
		"empty where refused":      {`{"id":""}`, "/args/id"},
		"empty one or many":        {`{"status":[]}`, "/args/status"},
		"null in one or many":      {`{"status":["local",null]}`, "/args/status/1"},
		"type in one or many":      {`{"status":["local",3]}`, "/args/status/1"},
		"no time":                  {`{"at":"yesterday"}`, "/args/at"},
		"invalid UTF-8":            {"{\"text\":\"\xff\"}", "/args/text"},
		"overlong UTF-8":           {"{\"text\":\"\xc0\x80\"}", "/args/text"},
		"cut UTF-8":                {"{\"text\":\"\xf0\x9f\x98\"}", "/args/text"},
		"surrogate as UTF-8":       {"{\"text\":\"\xed\xa0\x80\"}", "/args/text"},
		"invalid UTF-8 in raw":     {"{\"raw\":{\"a\":\"\xff\"}}", "/args/raw/a"},
		"invalid UTF-8 in a name":  {"{\"\xff\":1}", "/args"},
		"high surrogate alone":     {`{"text":"\ud800"}`, "/args/text"},
		"high surrogate then text": {`{"text":"\ud800abcdef"}`, "/args/text"},
		"two high surrogates":      {`{"text":"\ud800\ud800"}`, "/args/text"},
		"low surrogate alone":      {`{"text":"\udc00"}`, "/args/text"},
		"surrogate in raw":         {`{"raw":["\uDFFF"]}`, "/args/raw/0"},
		"surrogate in a raw name":  {`{"raw":{"\ud800":1}}`, "/args/raw"},
		"unknown escape":           {`{"text":"\x41"}`, "/args/text"},
		"cut hex escape":           {`{"text":"\u00"}`, "/args/text"},
		"no hex escape":            {`{"text":"\u00zz"}`, "/args/text"},
		"escape at the end":        {`{"text":"\`, "/args/text"},
		"control character":        {"{\"text\":\"a\nb\"}", "/args/text"},
		"NUL byte in string":       {"{\"text\":\"a\x00b\"}", "/args/text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(c.data)
			requireField(t, err, c.field)
		})
	}
}

func TestDepthIsBounded(t *testing.T) {
	nested := func(depth int) string {
		return `{"raw":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
	}
	_, err := decode(nested(strictjson.MaxDepth - 1))
	require.NoError(t, err)
	_, err = decode(nested(strictjson.MaxDepth))
	requireField(t, err, "/args/raw"+strings.Repeat("/0", strictjson.MaxDepth-1))
	_, err = decode(`{"raw":` + strings.Repeat("[", 1_000_000))
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
}

func TestManyNamesAreCompared(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `"n%d":{"a":%d},`, i, i)
	}
	unique := `{"raw":{` + b.String() + `"last":1}}`
	_, err := decode(unique)
	require.NoError(t, err)
	for _, name := range []string{"n0", "n15", "n16", "n17", "n99999"} {
		_, err = decode(`{"raw":{` + b.String() + `"` + name + `":1}}`)
		requireField(t, err, "/args/raw/"+name)
	}
}

func TestElementsAreBoundedByTheText(t *testing.T) {
	_, err := decode(`{"list":[` + strings.Repeat(`{},`, 1_000) + `{}]}`)
	require.NoError(t, err)
	many := 20_000
	_, err = decode(`{"list":[` + strings.Repeat(`{"name":"a"},`, many) + `{"name":"abcdefghijklmnopq` + strings.Repeat("x", 4*many) + `"}]}`)
	require.NoError(t, err)
	_, err = decode(`{"list":[` + strings.Repeat(`{},`, many) + `{}]}`)
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
	_, err = decode(`{"status":[` + strings.Repeat(`"",`, many) + `""]}`)
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
	_, err = decode(`{"any":{"a":"` + strings.Repeat("x", 70_000) + `"}}`)
	requireField(t, err, "/args/any/a")
	_, err = decode(`{"raw":[` + strings.Repeat(`0,`, many) + `0]}`)
	require.NoError(t, err, "raw values take no more than their text")
}

func TestPointersOfLongNamesAreCut(t *testing.T) {
	name := strings.Repeat("é", 1_000)
	_, err := decode(`{"` + name + `":1}`)
	requireField(t, err, "/args/"+strings.Repeat("é", 64)+"…")
	require.Less(t, len(err.Error()), 400)
}

func TestDecodeNeedsAPointer(t *testing.T) {
	require.Equal(t, sessions.CodeInternal, sessions.CodeOf(strictjson.Decode([]byte(`{}`), "", sample{})))
	var f float32
	require.Equal(t, sessions.CodeInternal, sessions.CodeOf(strictjson.Decode([]byte(`1`), "", &f)))
}

func BenchmarkDecode8MiB(b *testing.B) {
	for name, data := range map[string]string{
		"text":    `{"text":"` + strings.Repeat("a", 8<<20) + `"}`,
		"escapes": `{"text":"` + strings.Repeat(`\n`, 4<<20) + `"}`,
		"raw":     `{"raw":[` + strings.Repeat(`{"a":1,"b":[true,"x"]},`, 350_000) + `0]}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				var s sample
				if err := strictjson.Decode([]byte(data), "", &s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
