package agentsv1

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/oracle/scripted"
	"agenthost/tests/rawhttp"
)

// Whatever is given as the last event's id, the answer is a stream or a refusal, at
// once.
func TestEventIDsThatAreMadeUp(t *testing.T) {
	script := scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "hello", Steps: []scripted.Step{{Text: "ok"}}},
		{Steps: []scripted.Step{{Deltas: []scripted.Delta{{Text: "let "}, {Text: "me look"}}, Calls: []scripted.Call{{Path: "/builtin/echo", Args: `{"text":"x"}`}}}, {Text: "it rains"}}},
	}})
	s := newSiege(t, script, fitting{}, times{})
	create := func() (id string, events []seen) {
		return s.created(`{"environment":{"type":"none"},"agent":{"model":"default"},"input":"hi","stream":true}`)
	}
	id, own := create()
	_, foreign := create()
	gone, deleted := create()
	_, err := s.sessions().Delete(s.ctx(), gone)
	require.NoError(t, err)
	s.rest()
	before := s.digest()
	path := "/sessions/" + id + "/events"
	refused := func(last, about string) {
		t.Helper()
		conn := s.dial(beta("GET", path, "", "Last-Event-ID: "+last, "Connection: close"))
		a := conn.Answer()
		require.Equal(t, "invalid_request_error", requireProblem(t, a, 400, about))
		require.Equal(t, "false", a.Header.Get("X-Should-Retry"))
	}
	for about, last := range map[string]string{
		"another session's": foreign[3].id, "a deleted session's": deleted[3].id, "a number": "17", "a negative number": "-1", "zero": "0", "a prefix": "evt_", "no prefix": own[2].id[len("evt_"):],
		"another prefix": "EVT_" + own[2].id[len("evt_"):], "huge": "evt_" + strings.Repeat("A", 30_000), "all ones": "evt_" + strings.Repeat("_", 67), "padded": own[2].id + "==", "standard base64": "evt_+/+/",
		"a cursor of $": "c1", "not ASCII": "évt", "no UTF-8": "evt_\xff\xfe", "a tab": "evt_\tAA", "quotes": `"` + own[2].id + `"`, "two ids": own[2].id + ", " + own[3].id,
		"JSON": `{"id":1}`, "a path": "../../etc/passwd", "percents": "%00%0a", "the highest numbers": "evt_" + "____________f8" + "AQ", "a call of SQL": "' or 1=1 --",
	} {
		refused(last, about)
	}
	for i := 1; i < len(own[3].id); i++ {
		refused(own[3].id[:i], fmt.Sprintf("%d letters of an id", i))
	}
	requireProblem(t, s.dial(beta("GET", path, "", "Last-Event-ID: "+own[2].id, "Last-Event-ID: "+own[3].id, "Connection: close")).Answer(), 400, "given twice")
	require.Equal(t, 400, s.dial(beta("GET", path, "", "Last-Event-ID: evt_\x00", "Connection: close")).Status(), "a NUL")
	status, _ := s.dial(beta("GET", path, "", "Last-Event-ID: ", "Connection: close")).Head()
	require.Equal(t, 200, status, "an empty one is none")
	requireProblem(t, s.dial(beta("GET", "/sessions/"+gone+"/events", "", "Last-Event-ID: "+deleted[3].id, "Connection: close")).Answer(), 404, "of a session that is gone")

	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var line *rawhttp.Conn
	streams := 0
	try := func(last string) {
		t.Helper()
		if line == nil {
			line = s.dial("")
		}
		_, err := io.WriteString(line, beta("GET", path, "", "Last-Event-ID: "+last))
		require.NoError(t, err)
		status, header := line.Head()
		if status == 200 { // it has no end, so that the connection serves for nothing else
			streams++
			require.NoError(t, line.Close())
			line = nil
			return
		}
		require.Equal(t, 400, status, last)
		line.Skip(t, header)
	}
	for _, e := range []seen{own[0], own[len(own)/2], own[len(own)-1]} {
		for i := range e.id {
			for _, letter := range alphabet {
				try(e.id[:i] + string(letter) + e.id[i+1:])
			}
		}
	}
	require.NotZero(t, streams, "the real ones are among them")
	chance := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		made := "evt_"
		for range chance.IntN(40) {
			made += string(alphabet[chance.IntN(len(alphabet))])
		}
		try(made)
	}
	require.Equal(t, before, s.digest(), "nothing was written")
	s.held()
}
