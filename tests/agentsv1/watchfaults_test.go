package agentsv1

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// canned is an exchange as it should be, to be spoiled.
type canned struct {
	method, path, sent string
	asked              http.Header
	status             int
	header             http.Header
	body               string
}

func cannedDelete() canned {
	return canned{method: "DELETE", path: "/v1/agents/sessions/x", asked: http.Header{"Openai-Beta": {"agents=v1"}}, status: 200,
		header: http.Header{"X-Request-Id": {"req_00000000000000000000000000000000"}, "Content-Type": {"application/json"}},
		body:   `{"id":"x","object":"agent.session.deleted","deleted":true}`}
}

func cannedEvents() canned {
	c := cannedDelete()
	c.method, c.path, c.sent, c.status, c.body = "POST", "/v1/agents/sessions/x/events", `{"events":[{"type":"agent.session.input.cancel"}]}`, 202, ""
	c.asked["Content-Type"], c.asked["Idempotency-Key"] = []string{"application/json"}, []string{"k"}
	delete(c.header, "Content-Type")
	return c
}

func cannedList() canned {
	c := cannedDelete()
	c.method, c.path, c.body = "GET", "/v1/agents/sessions?limit=2&order=asc&metadata[a]=b", `{"object":"list","data":[],"has_more":false,"first_id":null,"last_id":null}`
	return c
}

func cannedStream() canned {
	c := cannedDelete()
	c.method, c.path = "GET", "/v1/agents/sessions/x/events"
	c.header["Content-Type"] = []string{"text/event-stream"}
	c.body = ": connected\n\nevent: agent.session.turn.output_text.done\nid: 1\ndata: " +
		`{"content_index":0,"event_id":"1","item_id":"i","output_index":0,"session_id":"x","text":"t","turn_id":"u","type":"agent.session.turn.output_text.done"}` +
		"\n\nevent: error\ndata: " +
		`{"error":{"message":"m","type":"server_error","code":"slow_reader","param":null},"event_id":"2","session_id":"x","type":"error"}` + "\n\n"
	return c
}

func cannedError(status int, kind, code string) canned {
	c := cannedDelete()
	c.status, c.body = status, `{"error":{"message":"m","type":"`+kind+`","code":"`+code+`","param":null}}`
	return c
}

// faults plays the exchange before a watch.
func (c canned) faults(t *testing.T) []string {
	t.Helper()
	d, err := description()
	require.NoError(t, err)
	w := &watch{described: d, seen: map[string]bool{}}
	r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.sent))
	r.Header = c.asked
	w.over(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		for name, values := range c.header {
			out.Header()[name] = values
		}
		out.WriteHeader(c.status)
		_, _ = io.WriteString(out, c.body)
	})).ServeHTTP(httptest.NewRecorder(), r)
	return w.found()
}

func TestWhatIsAsDescribedPasses(t *testing.T) {
	missing := cannedError(404, "not_found_error", "unsupported_operation")
	missing.path = "/v1/agents/sessions/x/nothing"
	elsewhere := cannedDelete()
	elsewhere.path, elsewhere.body = "/healthz", "anything"
	for _, c := range []canned{cannedDelete(), cannedEvents(), cannedList(), cannedStream(), cannedError(404, "not_found_error", "not_found_error"), missing, elsewhere} {
		require.Empty(t, c.faults(t), c.path)
	}
}

func TestWhatIsNotDescribedIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		canned canned
		spoil  func(*canned)
		says   string
	}{
		"a member":            {cannedDelete(), func(c *canned) { c.body = strings.Replace(c.body, `{`, `{"colour":1,`, 1) }, "colour"},
		"no member":           {cannedDelete(), func(c *canned) { c.body = `{"id":"x","deleted":true}` }, "object"},
		"another value":       {cannedDelete(), func(c *canned) { c.body = strings.Replace(c.body, "true", "false", 1) }, "deleted"},
		"no JSON":             {cannedDelete(), func(c *canned) { c.body = `{` }, "unexpected EOF"},
		"a status":            {cannedDelete(), func(c *canned) { c.status = 418 }, "the status is not described"},
		"a media type":        {cannedDelete(), func(c *canned) { c.header.Set("Content-Type", "text/plain") }, `the content type "text/plain" is not described`},
		"a header":            {cannedDelete(), func(c *canned) { c.header.Set("X-Colour", "red") }, "the header X-Colour is not described"},
		"no request id":       {cannedDelete(), func(c *canned) { c.header.Del("X-Request-Id") }, "X-Request-Id: it is missing"},
		"a bad request id":    {cannedDelete(), func(c *canned) { c.header.Set("X-Request-Id", "1") }, "X-Request-Id"},
		"no word on retries":  {cannedError(400, "invalid_request_error", "invalid_request_error"), func(*canned) {}, "X-Should-Retry: it is missing"},
		"a wait that is none": {cannedError(429, "rate_limit_error", "rate_limit_exceeded"), func(c *canned) { c.header.Set("Retry-After", "0") }, "Retry-After"},
		"an error's code":     {cannedError(404, "not_found_error", "gone"), func(*canned) {}, "code"},
		"a path that does":    {cannedDelete(), func(c *canned) { c.path += "/nothing" }, "the status is not described"},
		"a path unlike it":    {cannedError(404, "not_found_error", "not_found_error"), func(c *canned) { c.path += "/nothing" }, "unsupported_operation"},
		"a method":            {cannedDelete(), func(c *canned) { c.method = "PUT" }, "the status is not described"},
		"no beta":             {cannedDelete(), func(c *canned) { c.asked.Del("OpenAI-Beta") }, "though it is not as described"},
		"another beta":        {cannedDelete(), func(c *canned) { c.asked.Set("OpenAI-Beta", "agents=v2") }, "though it is not as described"},
		"an empty body's":     {cannedEvents(), func(c *canned) { c.body = "{}" }, "a body is not described"},
		"an input's member":   {cannedEvents(), func(c *canned) { c.sent = strings.Replace(c.sent, `"type"`, `"colour":1,"type"`, 1) }, "though it is not as described"},
		"an input":            {cannedEvents(), func(c *canned) { c.sent = strings.Replace(c.sent, "cancel", "paint", 1) }, "though it is not as described"},
		"a key":               {cannedEvents(), func(c *canned) { c.asked.Set("Idempotency-Key", strings.Repeat("k", 129)) }, "though it is not as described"},
		"a limit":             {cannedList(), func(c *canned) { c.path = "/v1/agents/sessions?limit=0" }, "though it is not as described"},
		"an order":            {cannedList(), func(c *canned) { c.path = "/v1/agents/sessions?order=up" }, "though it is not as described"},
		"a parameter":         {cannedList(), func(c *canned) { c.path = "/v1/agents/sessions?colour=1" }, "the parameter colour is not described"},
		"an event":            {cannedStream(), func(c *canned) { c.body = strings.ReplaceAll(c.body, "output_text.done", "painted") }, `the type "agent.session.turn.painted" is not described`},
		"an event's member":   {cannedStream(), func(c *canned) { c.body = strings.Replace(c.body, `"session_id"`, `"colour":1,"session_id"`, 1) }, "colour"},
		"an event's name":     {cannedStream(), func(c *canned) { c.body = strings.Replace(c.body, "event: agent", "event: a", 1) }, "at odds"},
		"an event's id":       {cannedStream(), func(c *canned) { c.body = strings.Replace(c.body, "id: 1", "id: 3", 1) }, "at odds"},
		"an error's id":       {cannedStream(), func(c *canned) { c.body = strings.Replace(c.body, "event: error", "event: error\nid: 2", 1) }, "at odds"},
		"an event's lines":    {cannedStream(), func(c *canned) { c.body = strings.Replace(c.body, "id: 1\n", "", 1) }, "three lines"},
	} {
		t.Run(name, func(t *testing.T) {
			c.spoil(&c.canned)
			require.Contains(t, strings.Join(c.canned.faults(t), "\n"), c.says)
		})
	}
}
