package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	for _, path := range []string{"/", "/v1", "/v1/call/", "/v1/call/x", "/v1//call", "/V1/call", "/v1/sessions", "/v1/sessions//frames",
		"/v1/sessions/a", "/v1/sessions/a/b/frames", "/v1/sessions/a/frames/", "/healthz/", "/metrics/x", "/../healthz"} {
		for _, method := range []string{"GET", "POST"} {
			send(t, method, "http://"+address+path, "").refused(t, 404, sessions.CodeNotFound)
		}
	}
	for path, c := range map[string]struct{ bad, allow string }{
		"/v1/call":              {"GET", "POST"},
		"/v1/ws":                {"POST", "GET"},
		"/v1/sessions/a/frames": {"DELETE", "GET"},
		"/healthz":              {"POST", "GET, HEAD"},
		"/readyz":               {"OPTIONS", "GET, HEAD"},
	} {
		a := send(t, c.bad, "http://"+address+path, "")
		a.refused(t, 405, sessions.CodeInvalidRequest)
		require.Equal(t, c.allow, a.header.Get("Allow"))
	}
	a := send(t, "HEAD", "http://"+address+"/v1/sessions/a/frames", "")
	require.Equal(t, 405, a.status)
	require.Empty(t, a.body)
}

func TestHealth(t *testing.T) {
	s := &service{}
	address := start(t, s, server.Config{Authenticate: func(*http.Request) (api.Caller, error) {
		return api.Caller{}, sessions.Errorf(sessions.CodeUnauthenticated, "No.")
	}})
	a := send(t, "GET", "http://"+address+"/healthz", "")
	require.Equal(t, 200, a.status)
	require.JSONEq(t, `{"status":"ok"}`, a.body)
	a = send(t, "GET", "http://"+address+"/readyz", "")
	require.Equal(t, 200, a.status)
	require.JSONEq(t, `{"status":"ready"}`, a.body)
	a = send(t, "HEAD", "http://"+address+"/healthz", "")
	require.Equal(t, 200, a.status)
	require.Empty(t, a.body)

	s.ready = sessions.Errorf(sessions.CodeStoreUnavailable, "The store is read-only.").Because(errors.New("secret"))
	a = send(t, "GET", "http://"+address+"/readyz", "")
	a.refused(t, 503, sessions.CodeStoreUnavailable)
	require.NotContains(t, a.body, "secret")
	require.Equal(t, 200, send(t, "GET", "http://"+address+"/healthz", "").status)
}

func TestAuthenticationComesFirst(t *testing.T) {
	address := start(t, &service{}, server.Config{Authenticate: func(r *http.Request) (api.Caller, error) {
		if r.Header.Get("Authorization") == "Bearer good" {
			return api.Caller{Owner: "o"}, nil
		}
		return api.Caller{}, sessions.Errorf(sessions.CodeUnauthenticated, "A key is needed.")
	}})
	call(t, address, `no JSON`).refused(t, 401, sessions.CodeUnauthenticated)
	send(t, "GET", "http://"+address+"/v1/ws", "").refused(t, 401, sessions.CodeUnauthenticated)
	send(t, "GET", "http://"+address+"/v1/sessions/a/frames?x=y", "").refused(t, 401, sessions.CodeUnauthenticated)
	require.Equal(t, 200, call(t, address, `{"op":"$ping"}`, "Authorization", "Bearer good").status)
}

func TestOriginsOfPagesAreChecked(t *testing.T) {
	address := start(t, &service{}, server.Config{Origins: []string{"Friend.example", "https://safe.example:8443"}})
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		origin, host string
		status       int
	}{
		"own":                       {"http://" + address, address, 200},
		"own by name":               {"http://localhost:" + port, "localhost:" + port, 200},
		"allowed host":              {"https://friend.example", address, 200},
		"allowed with scheme":       {"https://safe.example:8443", address, 200},
		"another scheme":            {"http://safe.example:8443", address, 403},
		"another port":              {"http://127.0.0.1:1", address, 403},
		"another page":              {"https://evil.example", address, 403},
		"page that ends alike":      {"https://evil-friend.example", address, 403},
		"opaque":                    {"null", address, 403},
		"malformed":                 {"http://[", address, 403},
		"name that was bent to us":  {"http://evil.example:" + port, "evil.example:" + port, 403},
		"address that is not local": {"http://10.0.0.1:" + port, "10.0.0.1:" + port, 403},
	} {
		t.Run(name, func(t *testing.T) {
			a := call(t, address, `{"op":"$ping"}`, "Origin", c.origin, "Host", c.host)
			require.Equal(t, c.status, a.status, a.body)
			if c.status == 403 {
				a.refused(t, 403, sessions.CodeForbidden)
				send(t, "GET", "http://"+address+"/v1/ws", "", "Origin", c.origin, "Host", c.host).refused(t, 403, sessions.CodeForbidden)
			}
		})
	}
}

// A page whose name was made to lead to this machine sends no Origin when it reads
// from that name. A host that asks for no key has nothing else to know it by.
func TestNamesOfPagesAreChecked(t *testing.T) {
	agents := &elsewhere{}
	anyone := func(secret string) (api.Caller, error) {
		return api.Caller{Owner: sessions.LocalOwner, Anyone: secret != "good"}, nil
	}
	for name, config := range map[string]server.Config{
		"everyone may call": {Agents: agents, Metrics: agents, Origins: []string{"https://own.example", "also.example"}},
		"no key is asked":   {Agents: agents, Metrics: agents, Authenticate: server.Bearer(anyone)},
	} {
		t.Run(name, func(t *testing.T) {
			address := start(t, &service{}, config)
			_, port, err := net.SplitHostPort(address)
			require.NoError(t, err)
			own, err := os.Hostname()
			require.NoError(t, err)
			for _, host := range []string{address, "localhost:" + port, "LOCALHOST", "localhost.", "a.localhost", "[::1]:" + port,
				own + ":" + port, "host.docker.internal:" + port} {
				require.Equal(t, 200, call(t, address, `{"op":"$ping"}`, "Host", host).status, host)
			}
			for _, host := range []string{"evil.example:" + port, "evil.example", "10.0.0.1:" + port, "localhost.evil.example", "xlocalhost", "internal"} {
				call(t, address, `{"op":"$ping"}`, "Host", host).refused(t, 403, sessions.CodeForbidden)
				send(t, "GET", "http://"+address+"/v1/sessions/a/frames", "", "Host", host).refused(t, 403, sessions.CodeForbidden)
				send(t, "GET", "http://"+address+"/v1/ws", "", "Host", host).refused(t, 403, sessions.CodeForbidden)
				send(t, "GET", "http://"+address+"/metrics", "", "Host", host).refused(t, 403, sessions.CodeForbidden)
				require.Equal(t, 200, send(t, "GET", "http://"+address+"/healthz", "", "Host", host).status, "it tells nothing")
			}
			friends, good := 403, 403
			if config.Authenticate == nil {
				friends = 200
				require.Equal(t, 418, send(t, "GET", "http://"+address+"/v1/agents", "", "Host", "evil.example").status)
			} else {
				good = 200
			}
			require.Equal(t, friends, call(t, address, `{"op":"$ping"}`, "Host", "own.example").status)
			require.Equal(t, friends, call(t, address, `{"op":"$ping"}`, "Host", "ALSO.example").status)
			require.Equal(t, good, call(t, address, `{"op":"$ping"}`, "Host", "evil.example", "Authorization", "Bearer good").status,
				"who has a key is no page that only knows a name")
		})
	}
}

// elsewhere answers what a Server passes on.
type elsewhere struct{}

func (*elsewhere) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
func (*elsewhere) Refuse(w http.ResponseWriter, _ *http.Request, _ error) {
	w.WriteHeader(http.StatusTeapot)
}

func TestServerIsAHandlerToo(t *testing.T) {
	s := server.New(&service{}, server.Config{})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
	require.Equal(t, 200, w.Code)
	require.NoError(t, s.Shutdown(t.Context()))
	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	answer{w.Code, w.Header(), w.Body.String()}.refused(t, 503, sessions.CodeHostStopping)
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := server.New(&service{}, server.Config{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), listener) }()
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer conn.Close()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Get("http://localhost/healthz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 200, response.StatusCode)
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, <-served)
}

// face stands for another API: it answers what it is let answer, and what is not.
type face struct{}

func (face) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }

func (face) Refuse(w http.ResponseWriter, _ *http.Request, err error) {
	w.WriteHeader(http.StatusTeapot)
	_, _ = w.Write([]byte(sessions.CodeOf(err)))
}

// What is below /v1/agents is refused in the words of that API.
func TestTheAgentsAPIRefusesInItsOwnWords(t *testing.T) {
	s := server.New(&service{}, server.Config{Agents: face{}})
	answer := func(path, origin string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	status, _ := answer("/v1/agents/sessions", "")
	require.Equal(t, http.StatusAccepted, status)
	status, body := answer("/v1/agents/sessions", "https://elsewhere.example")
	require.Equal(t, http.StatusTeapot, status)
	require.EqualValues(t, sessions.CodeForbidden, body)
	require.NoError(t, s.Shutdown(t.Context()))
	status, body = answer("/v1/agents", "")
	require.Equal(t, http.StatusTeapot, status)
	require.EqualValues(t, sessions.CodeHostStopping, body)
	status, _ = answer("/v1/vaults/v", "")
	require.Equal(t, http.StatusTeapot, status)
	for _, path := range []string{"/v1/agentsx", "/v1/vaultsx"} {
		status, _ = answer(path, "")
		require.Equal(t, http.StatusNotFound, status, path)
	}
}
