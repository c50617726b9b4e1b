package agentsv1

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/oracle"
	"agenthost/sessions"
	"agenthost/tests/rawhttp"
)

// bytesInUse is how many bytes the process uses for values and stacks that are in use.
func bytesInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// crowd returns how many of so many connections the system has room for, both of
// whose ends are in this process.
func crowd(t *testing.T, wanted int) int {
	t.Helper()
	var files syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	const others = 500
	room := (int(min(files.Cur, 1<<20)) - others) / 2
	if room < wanted {
		t.Logf("of %d connections %d are tried, since this system lets a process have %d files", wanted, room, files.Cur)
	}
	require.Greater(t, room, 50)
	return min(wanted, room)
}

// stream opens a stream of a session's events by hand, and waits until it is open.
func (s *siege) stream(id string) *rawhttp.Conn {
	s.t.Helper()
	conn := s.dial(beta("GET", "/sessions/"+id+"/events", "", "Connection: close"))
	status, _ := conn.Head()
	require.Equal(s.t, 200, status)
	return conn
}

func TestThousandsOfConnections(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	const streamsOf5 = 1 // of five connections one is a stream
	n := crowd(t, 2_500)
	before := bytesInUse()
	var idle, streams []*rawhttp.Conn
	for i := range n {
		if i%5 < streamsOf5 {
			streams = append(streams, s.stream(s.idle))
			continue
		}
		conn := s.dial(beta("GET", "/sessions/"+s.idle, ""))
		require.Equal(t, 200, conn.Status())
		idle = append(idle, conn)
	}
	// Two buffers of net/http and the test's own, a stack or two at either end, and
	// what a subscription is.
	const eachBytes = 64 << 10
	used := bytesInUse() - before
	require.Less(t, used, uint64(n)*eachBytes)
	t.Logf("%d connections, %d of them streams, use %d KiB each", n, len(streams), used/uint64(n)>>10)
	s.made("hello", "idle")
	require.NoError(t, s.sessions().Events.New(s.ctx(), s.idle, saying("k", "hello")))
	for _, conn := range streams {
		for line := ""; line != "event: agent.session.idle"; {
			var err error
			line, err = conn.Line()
			require.NoError(t, err)
		}
	}
	for _, conn := range idle {
		_, err := io.WriteString(conn, beta("GET", "/sessions/"+s.idle, ""))
		require.NoError(t, err)
		require.Equal(t, 200, conn.Status())
	}
	s.held()
}

func TestAFullHouse(t *testing.T) {
	const most = 12
	s := newSiege(t, everyState(), fitting{limits: sessions.Limits{Connections: most}}, times{})
	var streams []*rawhttp.Conn
	for range most {
		streams = append(streams, s.stream(s.idle))
	}
	require.True(t, s.dial("").Closed(), "there is no room for one more")
	client := openai.NewClient(option.WithBaseURL(s.url+"/v1"), option.WithAPIKey("any"), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	_, err := client.Beta.Agents.Sessions.Get(s.ctx(), s.idle)
	require.Error(t, err)
	require.NoError(t, streams[0].Close())
	require.Eventually(t, func() bool {
		_, err := client.Beta.Agents.Sessions.Get(s.ctx(), s.idle)
		return err == nil
	}, patience, 5*time.Millisecond)
	for range 3 * most { // connections that wait for nothing make room, once they do
		require.Eventually(t, func() bool { return s.dial(beta("GET", "/sessions/"+s.idle, "")).Status() == 200 }, patience, time.Millisecond)
	}
	s.held()
}

func TestMoreStreamsThanThereMayBe(t *testing.T) {
	const most = 12
	s := newSiege(t, everyState(), fitting{limits: sessions.Limits{Subscriptions: most}}, times{})
	streams := []*rawhttp.Conn{}
	for range most {
		streams = append(streams, s.stream(s.idle))
	}
	a := s.dial(beta("GET", "/sessions/"+s.idle+"/events", "")).Answer()
	require.Equal(t, "rate_limit_exceeded", requireProblem(t, a, 429, "one more"))
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	require.Empty(t, a.Header.Get("X-Should-Retry"))
	require.NoError(t, streams[0].Close())
	followed := s.sessions().Stream(s.ctx(), s.idle, openai.AgentSessionStreamParams{Input: "hello"})
	result, err := followed.FinalResult()
	require.NoError(t, err, "the SDK tries again until there is room")
	require.Equal(t, "ok", result.OutputText())
	s.held()
}

func TestStreamsThatAreOpenedAndDropped(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	for i := range 300 {
		conn := s.dial(beta("GET", "/sessions/"+s.idle+"/events", ""))
		if i%2 == 0 {
			status, _ := conn.Head()
			require.Equal(t, 200, status)
		}
		if i%3 == 0 {
			require.NoError(t, conn.Conn.(*net.TCPConn).SetLinger(0)) // it is reset
		}
		require.NoError(t, conn.Close())
	}
	for range 50 {
		conn := s.dial(beta("POST", "/sessions", `{"environment":{"type":"none"},"agent":{"model":"default"},"input":"hello","stream":true}`, jsonType))
		require.NoError(t, conn.Close())
	}
	s.held()
}

// Of a turn that writes more than anybody holds who does not read.
const (
	pieces   = 10_000
	ofABatch = 100
)

func piece(i int) string { return fmt.Sprintf("%06d%s", i, strings.Repeat("x", 344)) }

// Readers who never read are cut off; the turn, and whoever reads, do not notice.
func TestReadersWhoNeverRead(t *testing.T) {
	d := newDictated()
	s := newSiege(t, d, fitting{}, times{stall: 2 * time.Second})
	const readers = 20
	var deaf []*rawhttp.Conn
	for range readers {
		deaf = append(deaf, s.stream(s.idle))
	}
	reader := s.attach(s.idle, "")
	before := bytesInUse()
	require.NoError(t, s.sessions().Events.New(s.ctx(), s.idle, saying("k", "talk")))
	for i := range pieces {
		d.parts <- oracle.TextDelta{Text: piece(i)}
		if i%ofABatch == ofABatch-1 { // whoever reads keeps up
			for had := ""; had != piece(i); {
				e, ok := reader.next()
				require.True(t, ok)
				had = gjson.Get(e.data, "delta").String()
			}
		}
	}
	// A reader has at most 1,024 frames, whose texts all share, and one event that is
	// being written; the turn has its text a few times.
	const frameBytes, eventBytes = 256, 64 << 10
	text := pieces * len(piece(0))
	bound := int64(8*text + readers*(1024*frameBytes+eventBytes))
	used := int64(bytesInUse()) - int64(before)
	require.Less(t, used, bound)
	t.Logf("%d readers who do not read use %d KiB, of %d KiB that they may", readers, used>>10, bound>>10)
	d.parts <- oracle.Stop{Reason: oracle.StopDone}
	reader.until("agent.session.idle")
	reader.close()
	for _, conn := range deaf {
		_, err := io.Copy(io.Discard, conn)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was cut off")
	}
	turns, err := s.sessions().Turns.List(s.ctx(), s.idle, openai.BetaAgentSessionTurnListParams{})
	require.NoError(t, err)
	require.EqualValues(t, "completed", turns.Data[0].Status)
	s.held()
}

// A reader who falls behind is told so once, and misses nothing by coming back.
func TestReadersWhoFallBehind(t *testing.T) {
	d := newDictated()
	s := newSiege(t, d, fitting{}, times{})
	slow := s.attach(s.idle, "")
	require.NoError(t, s.sessions().Events.New(s.ctx(), s.idle, saying("k", "talk")))
	var text strings.Builder
	for i := range pieces {
		text.WriteString(piece(i))
		d.parts <- oracle.TextDelta{Text: piece(i)}
	}
	d.parts <- oracle.Stop{Reason: oracle.StopDone}
	s.until(s.idle, "idle")
	var had []seen
	for e, ok := slow.next(); ok; e, ok = slow.next() {
		had = append(had, e)
	}
	last := had[len(had)-1]
	require.Equal(t, "error", last.name)
	require.Contains(t, last.data, `"code":"slow_reader"`)
	require.NotContains(t, names(had[:len(had)-1]), "error")
	require.Empty(t, last.id, "nobody comes back behind it")
	again := s.attach(s.idle, had[len(had)-2].id)
	rest := again.until("agent.session.idle")
	require.Equal(t, text.String(), deltas(had)+deltas(rest), "nothing is missing or told twice")
	require.Equal(t, []string{"turn.completed", "idle"}, names(rest[len(rest)-2:]))
	again.close()
	s.held()
}

func TestHeadersThatAreHugeOrSlow(t *testing.T) {
	t.Run("huge", func(t *testing.T) {
		s := newSiege(t, everyState(), fitting{}, times{})
		for name, header := range map[string]string{
			"one": "X-Fill: " + strings.Repeat("x", 80<<10), "many": strings.Repeat("X-Fill: x\r\n", 10_000) + "X: y",
			"a key": "Authorization: Bearer " + strings.Repeat("x", 80<<10), "an event's id": "Last-Event-ID: " + strings.Repeat("A", 80<<10),
		} {
			require.Contains(t, []int{0, 431}, s.dial(beta("GET", "/sessions", "", header)).Status(), "%s: refused, or cut off while it still sends", name)
		}
		require.Contains(t, []int{0, 431}, s.dial("GET /v1/agents/"+strings.Repeat("x", 80<<10)+" HTTP/1.1\r\n").Status(), "the path")
		require.Equal(t, 200, s.dial(beta("GET", "/sessions", "", "X-Fill: "+strings.Repeat("x", 60<<10))).Status())
		a := s.dial(beta("POST", "/sessions", `{}`, jsonType, "Idempotency-Key: "+strings.Repeat("k", 129))).Answer()
		requireProblem(t, a, 400, "a long key")
		s.held()
	})
	t.Run("slow", func(t *testing.T) {
		t.Parallel() // it takes the time that a header has
		s := newSiege(t, everyState(), fitting{}, times{})
		slow := []*rawhttp.Conn{s.dial(""), s.dial("G"), s.dial("GET /v1/agents/sessions HTTP/1.1\r\nHost: x\r\n")}
		for range 5 {
			_, err := s.sessions().Get(s.ctx(), s.idle)
			require.NoError(t, err)
		}
		for _, conn := range slow {
			require.Contains(t, []int{0, 400, 408}, conn.Status())
			require.True(t, conn.Closed())
		}
	})
}
