package agentsv1

import (
	"net/url"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
)

// Sessions are listed by whatever metadata they may have.
func TestSessionsAreListedByTheirMetadata(t *testing.T) {
	w := newWorld(t, everyState())
	long, key := strings.Repeat("ü", 512), strings.Repeat("k", 64)
	p := body("")
	p.Metadata = map[string]string{key: long, "b[c]": "d"}
	made, err := w.sessions().New(w.ctx(), p)
	require.NoError(t, err)
	w.made("", "idle")
	for name, value := range map[string]string{key: long, "b[c]": "d"} {
		got, err := w.sessions().List(w.ctx(), openai.BetaAgentSessionListParams{Metadata: &map[string]string{name: value}})
		require.NoError(t, err)
		require.Len(t, got.Data, 1)
		require.Equal(t, made.ID, got.Data[0].ID)
	}
	for _, query := range []string{"metadata[]=x", "metadata[" + key + "k]=x", "metadata[a]=" + url.QueryEscape(long) + "x", "metadata=x"} {
		response := w.plain("GET", "/v1/agents/sessions?"+query, "", nil)
		require.Equal(t, 400, response.StatusCode, query)
		require.Contains(t, textOf(w, response), `"param":"metadata`, query)
	}
}
