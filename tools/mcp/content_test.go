package mcp

import (
	"encoding/json"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"agenthost/tools"
)

func TestContentBecomesOneValue(t *testing.T) {
	text := func(s string) sdk.Content { return &sdk.TextContent{Text: s} }
	for name, test := range map[string]struct {
		result sdk.CallToolResult
		want   string
	}{
		"nothing": {sdk.CallToolResult{}, `""`},
		"texts":   {sdk.CallToolResult{Content: []sdk.Content{text("a"), text("b")}}, `"a\nb"`},
		"json":    {sdk.CallToolResult{Content: []sdk.Content{text(`{"a":1}`)}}, `"{\"a\":1}"`},
		"sound": {sdk.CallToolResult{Content: []sdk.Content{&sdk.AudioContent{Data: []byte("12")}}},
			`"[One sound of the type unknown and 2 bytes is left out; only text is carried.]"`},
		"link": {sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///a", Name: "A"}}}, `"[Resource file:///a A]"`},
		"resource": {sdk.CallToolResult{Content: []sdk.Content{
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Blob: []byte("1")}},
		}}, `"inside\n[One resource file:///b of the type unknown and 1 bytes is left out; only text is carried.]"`},
		"structured":       {sdk.CallToolResult{StructuredContent: map[string]any{"a": "<"}, Content: []sdk.Content{text("other")}}, `{"a":"<"}`},
		"structured twice": {sdk.CallToolResult{StructuredContent: 1e20, Content: []sdk.Content{text("100000000000000000001")}}, `100000000000000000001`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := outputOf(&test.result)
			require.NoError(t, err)
			require.Equal(t, test.want, string(got))
		})
	}
}

func TestErrorResultsTellTheModel(t *testing.T) {
	for want, result := range map[string]sdk.CallToolResult{
		"Wrong.":                               {IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "Wrong."}}},
		`{"a":1}`:                              {IsError: true, StructuredContent: json.RawMessage(`{"a":1}`)},
		"The tool failed and did not say why.": {IsError: true},
	} {
		_, err := outputOf(&result)
		require.Equal(t, &tools.Failure{Message: want}, err)
	}
}

func TestNamesBecomePaths(t *testing.T) {
	for name, want := range map[string]string{
		"read_file": "/mcp/x/read_file",
		"repo/read": "/mcp/x/repo/read",
		"a.b-c":     "/mcp/x/a.b-c",
		"..":        "/mcp/x/_",
		"a//../b":   "/mcp/x/a/_/_/b",
		" a%2f{b}":  "/mcp/x/a_2f_b_",
		"a\x00\n":   "/mcp/x/a_",
		"":          "/mcp/x/_",
	} {
		got, err := pathOf("/mcp/x", name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestPausesGrowToTheirCapAndDiffer(t *testing.T) {
	p := pauses{first: time.Second, longest: 10 * time.Second}
	for _, most := range []float64{1, 2, 4, 8, 10, 10} {
		got := p.next().Seconds()
		require.LessOrEqual(t, got, most)
		require.GreaterOrEqual(t, got, most/2)
	}
	p.reset()
	require.LessOrEqual(t, p.next(), time.Second)
}
