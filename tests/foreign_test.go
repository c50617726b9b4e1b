package tests

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// askedOfOthers is, for each operation, what a caller may ask of a session that is
// not theirs: % stands for its id. nil is for operations that name no session.
var askedOfOthers = map[api.Op][]string{
	api.OpPing: nil, api.OpHostInfo: nil, api.OpSessionList: {`{"parentId":"%"}`}, api.OpSessionClearAll: nil, api.OpPurge: nil,
	api.OpKeyCreate: nil, api.OpKeyList: nil, api.OpKeyRevoke: nil, api.OpUnsubscribe: {`{"sub":"s1"}`},
	api.OpSessionCreate: {`{"parentId":"%","parentLocation":"local"}`, `{"sessionId":"child","parentId":"%","parentLocation":"local"}`},
	api.OpSessionGet:    {`{"sessionId":"%"}`, `{"targetKey":"%"}`},
	api.OpSessionUpdate: {`{"sessionId":"%","title":"mine"}`},
	api.OpSessionDelete: {`{"sessionId":"%"}`, `{"sessionId":"%","ifBusy":"reject"}`, `{"targetKey":"%"}`},
	api.OpSessionSeed:   {`{"targetKey":"%","profileKey":"nobody","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`},
	api.OpSessionClose:  {`{"sessionId":"%"}`},
	api.OpSessionDetach: {`{"sessionId":"%"}`},
	api.OpSessionFork:   {`{"sessionId":"%"}`, `{"sessionId":"%","requestId":"r1"}`},
	api.OpPrompt:        {`{"sessionId":"%","text":"x"}`, `{"sessionId":"%","text":"secret words","requestId":"r1"}`, `{"sessionId":"%","text":"x","busy":"steer"}`},
	api.OpRetry:         {`{"sessionId":"%"}`, `{"sessionId":"%","requestId":"r1"}`},
	api.OpCancel:        {`{"sessionId":"%"}`, `{"sessionId":"%","requestId":"r1"}`},
	api.OpAnswer:        {`{"sessionId":"%","callId":"c","output":1}`, `{"sessionId":"%","callId":"c","approve":true}`},
	api.OpSideQuestion:  {`{"sessionId":"%","text":"x"}`},
	api.OpTurn:          {`{"sessionId":"%","requestId":"r1"}`, `{"sessionId":"%","requestId":"r1","wait":"done"}`},
	api.OpTurns:         {`{"sessionId":"%"}`},
	api.OpMessages:      {`{"sessionId":"%"}`},
	api.OpFrames:        {`{"sessionId":"%"}`, `{"sessionId":"%","after":"cAQE"}`},
	api.OpState:         {`{"sessionId":"%"}`},
	api.OpStateSet:      {`{"sessionId":"%","name":"n","value":1}`},
	api.OpChildren:      {`{"sessionId":"%"}`},
	api.OpUsage:         {`{"sessionId":"%"}`, `{"sessionId":"%","by":"tree"}`},
	api.OpSubscribe:     {`{"sessionId":"%"}`, `{"sessionId":"%","after":"0"}`},
}

// The session of another owner is answered as one that nobody has, byte for byte,
// by every operation and through every door that asks for keys.
func TestCase52ForeignSessionsAreAsUnknownOnes(t *testing.T) {
	log := &hosttest.Log{}
	h := hosttest.New(t, hosttest.Options{Keys: true, Config: host.Config{Logger: log.Logger()}})
	key := func(owner sessions.Owner) string {
		made, err := h.KeyCreate(t.Context(), &api.KeyCreateArgs{Owner: owner})
		require.NoError(t, err)
		return made.Secret
	}
	bob := key("bob")
	ann, err := h.Admit(key("ann"))
	require.NoError(t, err)
	_, err = h.As(ann).Prompt(t.Context(), &api.PromptArgs{Address: api.Address{TargetKey: "x1"}, Text: "secret words", RequestID: "r1"}, nil)
	require.NoError(t, err)
	_, err = h.As(ann).SessionCreate(t.Context(), &api.SessionCreateArgs{Address: api.Address{SessionID: "x1"}})
	require.NoError(t, err)
	before := picture(t, h, ann)

	// x2 differs from x1 only in that nobody has it.
	for door, ask := range keyedDoors(t, h, bob) {
		t.Run(door, func(t *testing.T) {
			for _, row := range api.Ops() {
				asked, ok := askedOfOthers[row.Op]
				require.True(t, ok, "say what may be asked of others by %s", row.Op)
				for _, args := range asked {
					request := `{"id":"1","op":"` + string(row.Op) + `","args":` + args + `}`
					unknown, foreign := ask(t, request, "x2"), ask(t, request, "x1")
					require.NotContains(t, unknown, "UNAUTHENTICATED")
					require.Equal(t, unknown, foreign, request)
					require.NotContains(t, foreign, "secret words")
				}
			}
		})
	}
	t.Run("frames", func(t *testing.T) {
		for _, query := range []string{"", "?after=0", "?after=cAQE"} {
			unknown, foreign := getFrames(t, h, bob, "x2", query), getFrames(t, h, bob, "x1", query)
			require.Contains(t, unknown, "404")
			require.Equal(t, unknown, foreign, query)
		}
	})
	require.Equal(t, before, picture(t, h, ann), "nothing of it has changed")
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "owner=bob")
	require.NotContains(t, log.String(), "secret words")
	require.NotContains(t, log.String(), bob)
}

// picture is what an owner sees of the session x1.
func picture(t *testing.T, h *hosttest.Host, of api.Caller) []any {
	t.Helper()
	var all []any
	for _, at := range []api.Address{{TargetKey: "x1"}, {SessionID: "x1"}} {
		got, err := h.As(of).SessionGet(t.Context(), &api.SessionGetArgs{Address: at})
		require.NoError(t, err)
		got.Session.Resident = false
		turns, err := h.As(of).Turns(t.Context(), &api.TurnsArgs{Address: at})
		require.NoError(t, err)
		all = append(all, got.Session, turns.Turns)
	}
	return all
}

// keyedDoors are the ways in for the holder of a key. Each puts an id into a request
// and returns all that is answered, without the id.
func keyedDoors(t *testing.T, h *hosttest.Host, key string) map[string]func(t *testing.T, request, id string) string {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
	post := func(accept string) func(*testing.T, string, string) string {
		return func(t *testing.T, request, id string) string {
			t.Helper()
			header := header.Clone()
			header.Set("Accept", accept)
			return exchangeHTTP(t, http.MethodPost, h.URL+"/v1/call", strings.ReplaceAll(request, "%", id), header, id)
		}
	}
	return map[string]func(*testing.T, string, string) string{
		"http":   post("application/json"),
		"events": post("text/event-stream"),
		"websocket": func(t *testing.T, request, id string) string {
			t.Helper()
			conn, response, err := websocket.Dial(t.Context(), h.URL+"/v1/ws", &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{api.Subprotocol}})
			require.NoError(t, err)
			require.Nil(t, response.Body)
			defer func() { _ = conn.CloseNow() }()
			require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(strings.ReplaceAll(request, "%", id))))
			_, reply, err := conn.Read(t.Context())
			require.NoError(t, err)
			return strings.ReplaceAll(string(reply), id, "<id>")
		},
	}
}

func getFrames(t *testing.T, h *hosttest.Host, key, id, query string) string {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer " + key}}
	return exchangeHTTP(t, http.MethodGet, h.URL+"/v1/sessions/"+id+"/frames"+query, "", header, id)
}

// exchangeHTTP returns status, header and body of an answer, without the id and the
// time of day.
func exchangeHTTP(t *testing.T, method, url, body string, header http.Header, id string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header = header
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	require.NoError(t, err)
	defer response.Body.Close()
	response.Header.Del("Date")
	var all bytes.Buffer
	all.WriteString(response.Status + "\n")
	require.NoError(t, response.Header.Write(&all))
	_, err = io.Copy(&all, response.Body)
	require.NoError(t, err)
	return strings.ReplaceAll(all.String(), id, "<id>")
}
