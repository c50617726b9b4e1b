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

func TestPathsThatPlayTricks(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	other := s.made("hello", "idle")
	s.rest()
	before := s.digest()
	session := "/sessions/" + s.idle
	for _, path := range []string{"/..", "/../..", "/%2e%2e", "/%2e%2e/%2e%2e", "/%2E%2E%2F", "/.", "/./sessions", "//", "//sessions", "/sessions//", "/sessions/",
		"/sessions/" + other + "/..", "/%2F", "/%5c", `/\`, "/sessions%2F" + other, "/sessions/%00", "/sessions/" + other + "%00", "/sessions/;x", "/sessions;x", session + ";x",
		session + "/", session + "//turns", session + "/turns/", session + "/turns/..", session + "/turns/%2e%2e", session + "/turns/" + other, session + "/../" + other,
		session + "%2f..%2f" + other, session + "%2fturns", session + "%20", "/sessions/%20" + other, "/sessions/%ff%fe", "/sessions/\xff\xfe", "/sessions/%c0%af", "/sessions/%e2%80%ae" + other,
		"/sessions/" + strings.Repeat("a", 30_000), "/sessions/" + strings.Repeat("a/", 15_000), "/sessions/" + strings.Repeat("%41", 10_000), "/" + strings.Repeat("/", 20_000),
		"/SESSIONS", "/Sessions/" + other, "/sessions/" + strings.ToUpper(other) + "x", "/sessions/*", "/*", "/sessions/{session}", "/{agent}", "/%7bagent%7d", "/sessions/'%20or%20'1'='1",
		session + "/subagents/..", session + "/subagents/" + other, session + "/subagents/" + other + "/items", session + "/subagents/%00/turns", "/openapi.yaml/", "/openapi.yaml/..", "/openapi%2eyaml/x",
		session + "/events/", session + "/events/..", "/vaults", "/environments/../sessions", "/automations/%2e%2e/sessions"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			a := s.dial(beta(method, path, "")).Answer()
			about := fmt.Sprintf("%s %.80q", method, path)
			require.Contains(t, []int{400, 404}, a.Status, about)
			requireProblem(t, a, a.Status, about)
			require.Empty(t, a.Header.Get("Location"), about)
		}
	}
	for _, path := range []string{"/v1/agents%00/sessions", "/v1/agents;x/sessions", "/v1/agentsx", "/v1//agents/sessions", "/v1/./agents/sessions", "/v1/x/../agents/sessions", "/%761/agents",
		"/v1%2fagents/sessions", "/V1/Agents/sessions", "//v1/agents/sessions", "/v1/agents%2fsessions"} {
		a := s.dial(rawhttp.Request("GET", path, "", "OpenAI-Beta: agents=v1")).Answer()
		require.Equal(t, 404, a.Status, path)
		require.Empty(t, a.Header.Get("Location"), path)
	}
	require.Equal(t, before, s.digest(), "nothing was written")
	s.held()
}

func TestTargetsAndMethodsThatAreOdd(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	before := s.digest()
	const root, headers = "/v1/agents/sessions", " HTTP/1.1\r\nHost: localhost\r\nOpenAI-Beta: agents=v1\r\n\r\n"
	for _, method := range []string{"CONNECT", "TRACE", "OPTIONS", "PUT", "PATCH", "LINK", "PROPFIND", "get", "Get", "PRI", "X", strings.Repeat("A", 10_000)} {
		for _, path := range []string{root, root + "/" + s.idle, "/v1/agents", "/v1/agents/openapi.yaml", root + "/" + s.idle + "/events"} {
			a := s.dial(method + " " + path + headers).Answer()
			require.Equal(t, "unsupported_operation", requireProblem(t, a, 404, method), method)
		}
	}
	status, header := s.dial("HEAD " + root + headers).Head()
	require.Equal(t, 404, status)
	require.NotEmpty(t, header.Get("X-Request-Id"))
	for target, status := range map[string]int{"http://localhost": 200, "https://user:word@localhost:99": 200, "ftp://127.0.0.1": 200,
		"http://elsewhere.example:99": 403, "https://user:word@elsewhere.example": 403, "ftp://x": 403} {
		require.Equal(t, status, s.dial("GET "+target+root+headers).Status(), target)
	}
	for text, status := range map[string]int{
		"GET " + root + " HTTP/1.0\r\nOpenAI-Beta: agents=v1\r\n\r\n":                               200,
		"GET " + root + " HTTP/1.1\r\nOpenAI-Beta: agents=v1\r\n\r\n":                               400,
		"GET " + root + " HTTP/1.1\r\nHost: localhost\r\nHost: b\r\nOpenAI-Beta: agents=v1\r\n\r\n": 400,
		"GET " + root + " HTTP/2.0\r\nHost: localhost\r\n\r\n":                                      505,
		"GET " + root + "\r\n\r\n":                               400,
		"GET " + root + " x HTTP/1.1\r\nHost: localhost\r\n\r\n": 400,
		"GET " + root + "/%zz" + headers:                         400,
		"GET v1/agents" + headers:                                400,
		"CONNECT localhost:80" + headers:                         404,
		"OPTIONS *" + headers:                                    404,
		"GET *" + headers:                                        404,
		"GET " + root + " HTTP/1.1\r\nHost: localhost\r\nOpenAI-Beta : agents=v1\r\n\r\n":                                                                                       400,
		"GET " + root + " HTTP/1.1\r\nHost: localhost\r\nX: \x00\r\n\r\n":                                                                                                       400,
		"GET " + root + " HTTP/1.1\r\nHost: localhost\r\nOpenAI-Beta: agents=v1\r\n x\r\n\r\n":                                                                                  400,
		"POST " + root + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n":                                                                       400,
		"POST " + root + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n":                                                                                           400,
		"POST " + root + " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n":                                                                             501,
		"POST " + root + " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: x\r\nContent-Length: 1\r\n\r\n1":                                                                   501,
		"GET " + root + " HTTP/1.1\r\nHost: localhost\r\nOpenAI-Beta: agents=v1\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAAA\r\n\r\n":         200,
		"GET " + root + "/" + s.idle + "/events HTTP/1.1\r\nHost: localhost\r\nOpenAI-Beta: agents=v1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nRange: bytes=0-1\r\n\r\n": 200,
	} {
		got, _ := s.dial(text).Head()
		require.Equal(t, status, got, "%.100q", text)
	}
	require.Equal(t, before, s.digest(), "nothing was written")
	s.held()
}

func TestQueriesThatAreOdd(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	lists := []string{"", "/sessions", "/sessions/" + s.idle + "/items", "/sessions/" + s.idle + "/turns", "/sessions/" + s.idle + "/subagents"}
	for _, list := range lists {
		for query, param := range map[string]string{"limit=0": "limit", "limit=-1": "limit", "limit=101": "limit", "limit=1e9": "limit", "limit=abc": "limit", "limit=": "limit", "limit=9999999999999999999": "limit",
			"limit=1&limit=2": "limit", "limit=1.0": "limit", "limit=0x10": "limit", "limit=%31%00": "limit", "limit=１": "limit", "order=x": "order", "order=": "order", "order=ASC": "order",
			"order=asc&order=asc": "order", "colour=1": "colour", "Limit=1": "Limit", "limit[]=1": "limit[]", "after=a&after=b": "after", "after=nobody": "after", "after=%00": "after", "after=%ff": "after",
			"after=" + strings.Repeat("a", 30_000): "after", "%00=1": "\\u0000", "=": "", "&&&=&": "", "__proto__=1": "__proto__"} {
			a := s.dial(beta("GET", list+"?"+query, "")).Answer()
			about := fmt.Sprintf("%s?%.60s", list, query)
			if param == "after" && list == "/sessions" && !strings.Contains(query, "&") {
				require.Equal(t, 200, a.Status, "%s: a session that is gone has its place too", about)
				continue
			}
			requireProblem(t, a, 400, about)
			if param != "" {
				require.Contains(t, a.Body, `"param":"`+param+`"`, about)
			}
			require.Less(t, len(a.Body), 1024, about)
		}
		for _, query := range []string{"limit=1;order=asc", "%zz", "a=%", strings.Repeat("a&", 12_000)} {
			requireProblem(t, s.dial(beta("GET", list+"?"+query, "")).Answer(), 400, fmt.Sprintf("%s?%.60s", list, query))
		}
		for _, query := range []string{"", "limit=100", "limit=1&order=asc", "%6cimit=1", "limit=%31", "after=", "&limit=1&"} {
			require.Equal(t, 200, s.dial(beta("GET", list+"?"+query, "")).Status(), "%s?%s", list, query)
		}
	}
	for _, path := range []string{"/default", "/sessions/" + s.idle, "/sessions/" + s.idle + "/events"} {
		requireProblem(t, s.dial(beta("GET", path+"?colour=1", "")).Answer(), 400, path)
	}
	requireProblem(t, s.dial(beta("DELETE", "/sessions/"+s.idle+"?force=true", "")).Answer(), 400, "a delete with a wish")
	requireProblem(t, s.dial(beta("POST", "/sessions?x=1", `{"environment":{"type":"none"},"agent":{"model":"default"}}`, jsonType)).Answer(), 400, "a create with a wish")
	s.held()
}

// Requests that are sent all at once are answered one by one, each its own answer,
// and whoever does not read them is cut off.
func TestRequestsThatFollowEachOtherAtOnce(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{stall: 300 * time.Millisecond})
	var all strings.Builder
	for i := range 200 {
		all.WriteString(beta("GET", "/sessions/"+s.idle, ""))
		all.WriteString(beta("POST", fmt.Sprintf("/sessions/nobody%d/events", i), `{"events":[]}`, jsonType))
		all.WriteString(beta("POST", "/sessions", `{`, jsonType))
	}
	conn := s.dial(all.String())
	for range 200 {
		require.Contains(t, conn.Answer().Body, s.idle)
		requireProblem(t, conn.Answer(), 404, "nobody")
		requireProblem(t, conn.Answer(), 400, "no body")
	}
	smuggled := s.dial("POST /v1/agents/sessions HTTP/1.1\r\nHost: localhost\r\nOpenAI-Beta: agents=v1\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + beta("GET", "/sessions/"+s.idle, ""))
	require.Equal(t, 400, smuggled.Status())
	require.Contains(t, smuggled.Answer().Body, s.idle, "of two lengths the chunks count")

	greedy := s.dial("")
	for err := error(nil); err == nil; { // until it is cut off
		_, err = io.WriteString(greedy, rawhttp.Request("GET", "/v1/agents/openapi.yaml", "", "OpenAI-Beta: agents=v1"))
	}
	s.held()
}
