package agentsv1

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/tests/rawhttp"
)

const jsonType = "Content-Type: application/json"

func TestBodiesThatAreSlowOrBreakOff(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{body: 200 * time.Millisecond})
	slow := func(request string) *rawhttp.Conn {
		conn := s.dial(request)
		stop := make(chan struct{})
		t.Cleanup(func() { <-stop })
		go func() { // a byte now and then
			defer close(stop)
			for {
				if _, err := io.WriteString(conn, " "); err != nil {
					return
				}
				<-time.After(20 * time.Millisecond)
			}
		}()
		return conn
	}
	for name, c := range map[string]struct {
		conn *rawhttp.Conn
		code string
	}{
		"a byte now and then":       {slow(beta("POST", "/sessions", "", jsonType, "Content-Length: 1000000")), "request_timeout"},
		"half of it":                {s.dial(beta("POST", "/sessions", "", jsonType, "Content-Length: 100") + `{"agent":`), "request_timeout"},
		"nothing of it":             {s.dial(beta("POST", "/sessions/"+s.idle, "", jsonType, "Content-Length: 100")), "request_timeout"},
		"a chunk":                   {s.dial(beta("POST", "/sessions/"+s.idle+"/events", "", jsonType, "Transfer-Encoding: chunked") + "1\r\n{\r\n"), "request_timeout"},
		"half of a chunk":           {s.dial(beta("POST", "/sessions", "", jsonType, "Transfer-Encoding: chunked") + "ff\r\n{"), "request_timeout"},
		"of another type":           {slow(beta("POST", "/sessions", "", "Content-Type: text/plain", "Content-Length: 1000")), "invalid_request_error"},
		"to a path that is none":    {slow(beta("POST", "/sessions/a/b/c", "", jsonType, "Content-Length: 1000")), "unsupported_operation"},
		"of a read":                 {slow(beta("GET", "/sessions/nobody", "", jsonType, "Content-Length: 1000")), "not_found_error"},
		"of a delete, in chunks":    {s.dial(beta("DELETE", "/sessions/nobody", "", jsonType, "Transfer-Encoding: chunked") + "1\r\n{\r\n"), "not_found_error"},
		"without the beta's header": {slow(rawhttp.Request("POST", "/v1/agents/sessions", "", jsonType, "Content-Length: 1000")), "invalid_beta"},
		"announced":                 {s.dial(beta("POST", "/sessions", "", jsonType, "Content-Length: 100", "Expect: 100-continue")), "request_timeout"},
	} {
		a := c.conn.Answer()
		if a.Status == 100 {
			a = c.conn.Answer()
		}
		require.Equal(t, c.code, requireProblem(t, a, map[string]int{"request_timeout": 408, "invalid_request_error": 400, "invalid_beta": 400}[c.code]|
			map[string]int{"unsupported_operation": 404, "not_found_error": 404}[c.code], name), name)
		if c.code == "request_timeout" {
			require.Empty(t, a.Header.Get("X-Should-Retry"), "%s: it may be sent again", name)
		}
		require.True(t, c.conn.Closed(), name)
	}
	for name, text := range map[string]string{
		"broken off":      beta("POST", "/sessions", "", jsonType, "Content-Length: 100") + `{"agent":`,
		"broken chunk":    beta("POST", "/sessions", "", jsonType, "Transfer-Encoding: chunked") + "ff\r\n{",
		"no chunk at all": beta("POST", "/sessions", "", jsonType, "Transfer-Encoding: chunked") + "zz\r\n{",
		"endless chunk":   beta("POST", "/sessions", "", jsonType, "Transfer-Encoding: chunked") + "fffffffffffffffff\r\n{",
	} {
		conn := s.dial(text)
		require.NoError(t, conn.CloseWrite())
		requireProblem(t, conn.Answer(), 400, name)
		require.True(t, conn.Closed(), name)
	}
	s.held()
}

func TestBodiesThatAreHuge(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	const limit = 8 << 20
	create := func(header ...string) string { return beta("POST", "/sessions", "", append(header, jsonType)...) }
	conn := s.dial(create(fmt.Sprintf("Content-Length: %d", limit+1)))
	require.Equal(t, "request_too_large", requireProblem(t, conn.Answer(), 413, "by its length"))
	require.True(t, conn.Closed())
	conn = s.dial(create("Content-Length: 9223372036854775807", "Expect: 100-continue"))
	require.Equal(t, "request_too_large", requireProblem(t, conn.Answer(), 413, "announced"))
	require.True(t, conn.Closed(), "it was not asked for")

	conn = s.dial(create("Transfer-Encoding: chunked"))
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<16, strings.Repeat(" ", 1<<16))
	for range limit>>16 + 1 { // until it takes no more
		if _, err := io.WriteString(conn, chunk); err != nil {
			break
		}
	}
	require.Equal(t, "request_too_large", requireProblem(t, conn.Answer(), 413, "in chunks"))
	require.True(t, conn.Closed())

	conn = s.dial(create("Transfer-Encoding: chunked") + fmt.Sprintf("2;%s\r\n{}\r\n", strings.Repeat("x", 1<<20)))
	require.Contains(t, []int{0, 400}, conn.Status(), "an endless chunk extension")
	conn = s.dial(create("Transfer-Encoding: chunked", "Trailer: X") + "2\r\n{}\r\n0\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n")
	require.Contains(t, []int{0, 400}, conn.Status(), "an endless trailer")

	conn = s.dial(create("Content-Length: 10", "Expect: 100-continue"))
	require.Equal(t, 100, conn.Status())
	_, err := io.WriteString(conn, `{"agent":1`)
	require.NoError(t, err)
	requireProblem(t, conn.Answer(), 400, "announced and sent")
	require.Equal(t, 417, s.dial(create("Content-Length: 10", "Expect: the moon")).Status())
	s.held()
}

func TestBodiesThatAreOdd(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	before := s.digest()
	const start = `{"environment":{"type":"none"},"agent":{"model":"default"}`
	nested := func(open, shut string, depth int) string {
		return strings.Repeat(open, depth) + strings.Repeat(shut, depth)
	}
	for name, c := range map[string]struct{ body, says string }{
		"nothing":                      {" ", "one JSON value"},
		"a byte order mark":            {"\ufeff" + start + `}`, "one JSON value"},
		"UTF-16":                       {"{\x00}\x00", "one JSON value"},
		"no UTF-8":                     {start + ",\"metadata\":{\"a\":\"\xc3\x28\"}}", "UTF-8"},
		"an overlong NUL":              {start + ",\"metadata\":{\"a\":\"\xc0\x80\"}}", "UTF-8"},
		"a raw surrogate":              {start + ",\"metadata\":{\"a\":\"\xed\xa0\x80\"}}", "UTF-8"},
		"a bare NUL":                   {start + ",\"metadata\":{\"a\":\"\x00\"}}", "one JSON value"},
		"a NUL in a name":              {start + `,"metadata":{"a\u0000":"b"}}`, `"param":"metadata"`},
		"a NUL as a name":              {start + `,"\u0000":1}`, `"param":`},
		"half a surrogate pair":        {start + `,"metadata":{"a":"\ud800"}}`, `"param":"metadata.a"`},
		"two values":                   {start + `}` + start + `}`, "one JSON value"},
		"two values on two lines":      {start + "}\n" + start + `}`, "one JSON value"},
		"a comment":                    {start + `/* */}`, "one JSON value"},
		"a comma too many":             {start + `,}`, "one JSON value"},
		"single quotes":                {`{'agent':{}}`, "one JSON value"},
		"not a number":                 {start + `,"metadata":NaN}`, "one JSON value"},
		"a name twice":                 {start + `,"agent":{"model":"default"}}`, `"param":"agent"`},
		"a name twice, by an escape":   {start + `,"\u0061gent":{"model":"default"}}`, `"param":"agent"`},
		"a name twice, in a schema":    {start + `,"input":"x","agent_id":"x","x":{"y":1,"\u0079":2}}`, `"param":`},
		"lists in lists":               {start + `,"input":` + nested("[", "]", 5_000) + `}`, `"param":"input`},
		"lists in lists without end":   {start + `,"input":` + strings.Repeat("[", 1<<20) + `}`, "one JSON value"},
		"objects in objects":           {start + `,"input":` + strings.Repeat(`{"a":`, 5_000) + "1" + strings.Repeat("}", 5_000) + `}`, `"param":"input`},
		"a schema that is deep":        {start[:len(start)-1] + `,"tools":[{"type":"function","name":"f","parameters":` + nested("[", "]", 200) + `}]}}`, `"param":"agent.tools[0]`},
		"a huge number":                {start + `,"agent_id":1e999999999}`, `"param":"agent_id"`},
		"a number of many digits":      {start[:len(start)-1] + `,"multi_agent":{"enabled":false,"max_concurrent_subagents":` + strings.Repeat("9", 1<<16) + `}}}`, `"param":"agent.multi_agent`},
		"many members":                 {start + `,"metadata":{"` + manyNames(20_000) + `}}`, `"param":"metadata`},
		"many events":                  {`{"events":[` + strings.TrimSuffix(strings.Repeat(`{},`, 200_000), ",") + `]}`, `"param":"events`},
		"a name of a megabyte":         {start + `,"` + strings.Repeat("x", 1<<20) + `":1}`, `"param":`},
		"a value of another kind":      {start + `,"stream":"yes"}`, `"param":"stream"`},
		"an object for a text":         {start + `,"agent_id":{}}`, `"param":"agent_id"`},
		"a list for an object":         {`{"environment":[],"agent":[]}`, `"param":`},
		"names of another case":        {`{"Environment":{"type":"none"},"agent":{"model":"default"}}`, `"param":"Environment"`},
		"a name that imitates another": {start + `,"__proto__":{}}`, `"param":"__proto__"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := "/sessions"
			if strings.HasPrefix(c.body, `{"events"`) {
				path += "/" + s.idle + "/events"
			}
			a := s.dial(beta("POST", path, c.body, jsonType, "Idempotency-Key: "+"k")).Answer()
			require.Equal(t, "invalid_request_error", requireProblem(t, a, 400, name))
			require.Contains(t, a.Body, c.says)
			require.Equal(t, "false", a.Header.Get("X-Should-Retry"))
			require.Less(t, len(a.Body), 4096, "what was wrong is not sent back whole")
		})
	}
	for _, kind := range []string{"", "text/plain", "application/json; charset=latin1", "application/json, application/json", "application/json;;;", "APPLICATION/JSONP",
		"multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/json; charset", strings.Repeat("x", 1<<14), "*/*", "application/json\x80"} {
		a := s.dial(beta("POST", "/sessions", start+`}`, "Content-Type: "+kind)).Answer()
		require.Equal(t, "invalid_request_error", requireProblem(t, a, 400, kind))
	}
	requireProblem(t, s.dial(beta("POST", "/sessions", start+`}`, jsonType, "Content-Type: text/plain")).Answer(), 400, "two types")
	requireProblem(t, s.dial(beta("POST", "/sessions", start+`}`)).Answer(), 400, "no type")
	require.Equal(t, before, s.digest(), "nothing was written")
	for _, kind := range []string{"application/json", "Application/JSON ; Charset=\"UTF-8\"", "application/json; charset=utf-8; x=y"} {
		require.Equal(t, 200, s.dial(beta("POST", "/sessions", start+`}`, "Content-Type: "+kind)).Status(), kind)
	}
	s.held()
}

// manyNames are so many members of an object, but for the first quote.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `%d":"","`, i)
	}
	return b.String() + `x":""`
}

// Texts that are odd, but are texts, are kept as they are.
func TestTextsThatAreOddAreKept(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	for _, text := range []string{`\u0000`, `a\u0000b`, `\ufeff`, `\u202e`, `\ud83d\ude00`, `\uffff`, `</script>`, `'; drop table sessions; --`, `%s%n`, `\n\nevent: error\ndata: {}\n\n`,
		`\r`, strings.Repeat(`\u0001`, 1000)} {
		body := `{"environment":{"type":"none"},"agent":{"model":"default","instructions":"` + text + `"},"metadata":{"k":"` + strings.ReplaceAll(text, strings.Repeat(`\u0001`, 1000), "") + `"},"input":"` + text + `","stream":true}`
		conn := s.dial(beta("POST", "/sessions", body, jsonType, "Connection: close"))
		a := conn.Answer()
		require.Equal(t, 200, a.Status, "%s: %s", text, a.Body)
		require.Contains(t, a.Body, "event: agent.session.idle", text)
		require.NotContains(t, a.Body, "event: error\n", text)
	}
	s.held()
}
