package agentsv1

import (
	"io"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
)

// send makes a request as a client by hand does, with the beta header unless it is
// given.
func send(w *world, method, path, text string, header http.Header) *http.Response {
	request, err := http.NewRequestWithContext(w.ctx(), method, w.url+path, strings.NewReader(text))
	require.NoError(w.t, err)
	request.Header.Set("OpenAI-Beta", "agents=v1")
	if text != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func textOf(w *world, response *http.Response) string {
	text, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return string(text)
}
