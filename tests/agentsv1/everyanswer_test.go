package agentsv1

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	face "agenthost/host/agentsv1"
	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
)

// refuse has every operation refused for reasons that all share.
func (w *survey) refuse(names map[string]string) {
	var refusal error
	doors := server.New(server.For(w.host), server.Config{Agents: face.New(w.host, face.Config{Authenticate: func(*http.Request) (api.Caller, error) {
		return api.Caller{Owner: sessions.LocalOwner}, refusal
	}})})
	w.each(func(method, path string, o *openapi3.Operation) {
		for want, code := range map[int]sessions.Code{401: sessions.CodeUnauthenticated, 429: sessions.CodeOverloaded, 500: sessions.CodeInternal, 503: sessions.CodeHostStopping} {
			refusal = sessions.Errorf(code, "Not now.")
			require.Equal(w.t, want, w.status(doors, w.request(method, path, o, names, nil)), o.OperationID)
		}
		refusal = nil
		require.Equal(w.t, 403, w.status(doors, w.request(method, path, o, names, http.Header{"Origin": {"https://elsewhere.example"}})), o.OperationID)
		require.Equal(w.t, 400, w.status(doors, w.request(method, path, o, names, http.Header{"Openai-Beta": nil})), o.OperationID)
		if o.RequestBody != nil {
			r := w.request(method, path, o, names, nil)
			r.Body = http.NoBody
			require.Equal(w.t, 400, w.status(doors, r), o.OperationID)
		}
		if o.Responses.Value("404") != nil {
			require.Equal(w.t, 404, w.status(doors, w.request(method, path, o, map[string]string{
				"agent": "nobody", "session": nobodysSession, "subagent": nobodysChild, "turn": nobodysTurn, "its turn": nobodysTurn}, nil)), o.OperationID)
		}
		if o.Responses.Value("413") != nil {
			r := w.request(method, path, o, names, nil)
			r.ContentLength = 1 << 30
			require.Equal(w.t, 413, w.status(doors, r), o.OperationID)
		}
		if o.Responses.Value("408") != nil {
			r := w.request(method, path, o, names, nil)
			r.Body = io.NopCloser(iotest.ErrReader(os.ErrDeadlineExceeded))
			require.Equal(w.t, 408, w.status(doors, r), o.OperationID)
		}
		left, leave := context.WithCancel(w.ctx())
		leave()
		refusal = left.Err()
		require.Equal(w.t, 499, w.status(doors, w.request(method, path, o, names, nil).WithContext(left)), o.OperationID)
	})
}

// contradict brings out the conflicts.
func (w *survey) contradict() {
	busy := w.made("hang", "in_progress")
	require.Equal(w.t, 409, w.plain("DELETE", "/v1/agents/sessions/"+busy, "", nil).StatusCode)
	for path, bodies := range map[string][2]string{
		"":                              {w.bodies["createAgent"], `{"model":"default"}`},
		"/sessions":                     {createBody, strings.Replace(createBody, "hello", "hi", 1)},
		"/sessions/" + busy + "/events": {`{"events":[` + eventCancel + `]}`, `{"events":[` + eventMessage + `]}`},
	} {
		key := http.Header{"Idempotency-Key": {"k"}}
		require.Less(w.t, w.plain("POST", "/v1/agents"+path, bodies[0], key).StatusCode, 300)
		require.Equal(w.t, 409, w.plain("POST", "/v1/agents"+path, bodies[1], key).StatusCode)
	}
}

// Each operation is served with each status and media type that is described for it,
// and so is each code of an error.
func TestEveryAnswerIsServed(t *testing.T) {
	w := newSurvey(withChildren(t, nil))
	names := w.family()
	var described []string
	w.each(func(method, path string, o *openapi3.Operation) {
		for status, response := range o.Responses.Map() {
			for media := range response.Value.Content {
				described = append(described, o.OperationID+" "+status+" "+media)
			}
			if len(response.Value.Content) == 0 {
				described = append(described, o.OperationID+" "+status)
			}
		}
		if method == http.MethodDelete {
			return // in the end
		}
		r := w.request(method, path, o, names, nil)
		var text bytes.Buffer
		_, err := text.ReadFrom(r.Body)
		require.NoError(t, err)
		answer := w.plain(method, r.URL.RequestURI(), text.String(), nil)
		_ = answer.Body.Close() // a stream has no other end
	})
	w.events(w.plain("POST", "/v1/agents/sessions", strings.Replace(createBody, "{", `{"stream":true,`, 1), nil))
	w.refuse(names)
	w.contradict()
	for _, path := range []string{"sessions/" + names["session"], names["agent"]} {
		require.Equal(t, 200, w.plain("DELETE", "/v1/agents/"+path, "", nil).StatusCode)
	}
	require.Equal(t, 404, w.plain("GET", "/v1/agents/vaults", "", nil).StatusCode)
	for _, code := range w.watch.described.doc.Components.Schemas["ErrorDetail"].Value.Properties["code"].Value.Enum {
		require.True(t, w.watch.seen[code.(string)], code)
	}
	var served []string
	for what := range w.watch.seen {
		if name, _, of := strings.Cut(what, " "); of && name != "" {
			served = append(served, what)
		}
	}
	require.ElementsMatch(t, described, served)
}

// What a path does not have is not offered, whatever is asked of it.
func TestOtherMethodsAreNotOffered(t *testing.T) {
	w := newSurvey(withChildren(t, nil))
	names := w.family()
	before := w.digest()
	for path, item := range w.watch.described.doc.Paths.Map() {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
			if item.GetOperation(method) != nil {
				continue
			}
			at := w.request(method, path, &openapi3.Operation{}, names, nil).URL.Path
			answer := w.plain(method, at, "", nil)
			require.Equal(t, 404, answer.StatusCode, "%s %s", method, at)
			if method != "HEAD" {
				require.Equal(t, "unsupported_operation", gjson.Get(textOf(w.world, answer), "error.code").String(), "%s %s", method, at)
			}
		}
	}
	require.Equal(t, before, w.digest())
}

// The description is served as it is, to whoever may use the API.
func TestTheDescriptionIsServed(t *testing.T) {
	w := newWorld(t, everyState())
	answer := w.plain("GET", "/v1/agents/openapi.yaml", "", nil)
	want, err := os.ReadFile(descriptionFile)
	require.NoError(t, err)
	require.Equal(t, string(want), textOf(w, answer))
}

// Each part of the file is used by another.
func TestNothingIsDescribedInVain(t *testing.T) {
	text, err := os.ReadFile(descriptionFile)
	require.NoError(t, err)
	d, err := description()
	require.NoError(t, err)
	parts := d.doc.Components
	for kind, names := range map[string][]string{
		"schemas": slices.Collect(maps.Keys(parts.Schemas)), "parameters": slices.Collect(maps.Keys(parts.Parameters)),
		"headers": slices.Collect(maps.Keys(parts.Headers)), "responses": slices.Collect(maps.Keys(parts.Responses)),
		"requestBodies": slices.Collect(maps.Keys(parts.RequestBodies)),
	} {
		for _, name := range names {
			require.Contains(t, string(text), `"#/components/`+kind+"/"+name+`"`)
		}
	}
}

// What the description says of parameters is what the host makes of them.
func TestParametersAreTakenAsDescribed(t *testing.T) {
	w := newSurvey(withChildren(t, nil))
	names := w.family()
	w.each(func(method, path string, o *openapi3.Operation) {
		if method != http.MethodGet {
			return
		}
		at := w.request(method, path, o, names, nil).URL.Path
		for _, query := range []string{"", "?", "?limit=1", "?limit=100", "?limit=0", "?limit=101", "?limit=-1", "?limit=x", "?limit=1.5", "?limit=",
			"?limit=1&limit=2", "?order=asc", "?order=desc", "?order=up", "?order=", "?order=asc&limit=3", "?agent_id=default", "?agent_id=a&agent_id=b",
			"?metadata[a]=b", "?metadata[a]=b&metadata[c]=d", "?metadata[a]=b&metadata[a]=c", "?metadata=b", "?metadata[a=b", "?metadata[]=b", "?limit[x]=1", "?order[asc]", "?colour=1", "?after", "?%zz"} {
			r := httptest.NewRequestWithContext(w.ctx(), method, "/v1/agents", nil)
			r.URL.Path, r.URL.RawQuery, r.Header = at, strings.TrimPrefix(query, "?"), http.Header{"Openai-Beta": {"agents=v1"}}
			form := w.watch.described.judgeRequest(w.watch.described.operation(r), r, nil)
			answer := w.plain(method, at+query, "", nil)
			_ = answer.Body.Close()
			if (form == nil) != (answer.StatusCode == http.StatusOK) {
				t.Errorf("%s%s: %d, %v", o.OperationID, query, answer.StatusCode, form)
			}
		}
	})
}
