package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/offline"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// A transcript is a txtar file: a comment that says what it shows, then
// sections in pairs, "n request" with what is sent as it stands and "n reply"
// with what is answered. A request may hold \xff and the like for bytes that a
// text file cannot hold, and may repeat what an earlier reply was given as: the
// names that a scrubber puts in the place of ids, cursors and times.
//
// Each transcript is played through every door, or through those that a line
// "doors: …" of its comment names, against a host of its own, and all must give
// the same. With frames a reply has several lines; only WebSockets have those.
func TestProtocolTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/protocol/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			for i, d := range doorsOf(t, string(archive.Comment)) {
				played := play(t, archive, d)
				if *update && i == 0 {
					archive = played
					require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
				}
				require.Len(t, played.Files, len(archive.Files))
				for n, want := range archive.Files {
					have := played.Files[n]
					require.Equal(t, want.Name, have.Name)
					require.Equal(t, string(want.Data), string(have.Data), "%s through %s; -update writes what the first door says", want.Name, d.name)
				}
			}
		})
	}
}

func doorsOf(t *testing.T, comment string) []door {
	t.Helper()
	for line := range strings.Lines(comment) {
		names, ok := strings.CutPrefix(strings.TrimSpace(line), "doors: ")
		if !ok {
			continue
		}
		var some []door
		for _, d := range doors {
			if slices.Contains(strings.Fields(names), d.name) {
				some = append(some, d)
			}
		}
		require.NotEmpty(t, some, "no such door: %s", line)
		return some
	}
	return doors
}

// transcriptHost is the host that transcripts are played against. Its clock never
// shows the same millisecond twice, so that lists have one order.
func transcriptHost() hosttest.Options {
	var ms atomic.Int64
	return hosttest.Options{
		Config: host.Config{Now: func() time.Time { return noon.Add(time.Duration(ms.Add(1)) * time.Millisecond) }},
		Profiles: map[string]host.Profile{
			sessions.DefaultProfile: {Oracle: offline.New(), Tools: hosttest.AllTools(), MaxIterations: 3},
			"other":                 {Oracle: offline.New()},
			"careful":               {Oracle: offline.New(), Tools: hosttest.AllTools(), NeedsApproval: []string{tools.TimePath, tools.EchoPath}},
			"flaky":                 {Oracle: scripted.New(scripted.Step{Text: "I think", Fail: "overloaded"}, scripted.Step{Text: "well"})},
		},
	}
}

// play returns the archive with the replies of one door.
func play(t *testing.T, archive *txtar.Archive, d door) *txtar.Archive {
	t.Helper()
	h := hosttest.New(t, transcriptHost())
	send := linesOf(t, h, d)
	scrub := &scrubber{file: h.File, names: map[string]string{}, counts: map[string]int{}}
	played := &txtar.Archive{Comment: archive.Comment}
	for _, section := range archive.Files {
		step, isRequest := strings.CutSuffix(section.Name, " request")
		if !isRequest {
			continue
		}
		reply := scrub.scrub(t, send(scrub.restore(strings.TrimSuffix(string(section.Data), "\n"))))
		played.Files = append(played.Files, section, txtar.File{Name: step + " reply", Data: []byte(reply)})
	}
	return played
}

// linesOf is a door whose answers are the lines of the wire.
func linesOf(t *testing.T, h *hosttest.Host, d door) func(string) string {
	t.Helper()
	if d.name == "websocket" {
		s := h.Socket()
		return func(text string) string { return exchange(s, text) }
	}
	send := d.open(t, h)
	return func(text string) string {
		line, err := api.Encode(send(text))
		require.NoError(t, err)
		return string(line)
	}
}

// exchange sends a request and returns what comes up to its reply, one message
// a line.
func exchange(s *hosttest.Socket, text string) string {
	s.Send(text)
	var lines []string
	for {
		m := s.Read()
		lines = append(lines, m.Text)
		if m.IsReply() {
			return strings.Join(lines, "\n")
		}
	}
}

// scrubber replaces what differs from run to run by names that tell equal from
// different.
type scrubber struct {
	file   string
	names  map[string]string // by what they stand for
	counts map[string]int    // names given, by kind
}

var (
	scrubbed = regexp.MustCompile(`"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"` +
		`|"((?:call_)?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})"` +
		`|"(?:cursor|after)":"(c[A-Za-z0-9_-]+)"|"nextCursor":"([^"]+)"|"durationMs":\d+|"pid":\d+|"resident":(true|false)|"bytes(?:Before|After)":\d+|"secret":"ahk_[A-Za-z0-9_-]{43}"`)
	escaped = regexp.MustCompile(`\\x([0-9a-f]{2})`)
	cursors = regexp.MustCompile(`<cursor (\d+)\.(\d+)>`)
)

// scrub returns the text of a reply with names.
func (s *scrubber) scrub(t *testing.T, text string) string {
	t.Helper()
	text = strings.ReplaceAll(text, s.file, "<file>")
	text = scrubbed.ReplaceAllStringFunc(text, func(match string) string {
		groups := scrubbed.FindStringSubmatch(match)
		switch {
		case groups[1] != "":
			return `"<time>"`
		case strings.HasPrefix(groups[2], "call_"):
			return `"` + s.name("call", groups[2]) + `"`
		case groups[2] != "":
			return `"` + s.name("id", groups[2]) + `"`
		case groups[3] != "":
			life, seq, err := sessions.Cursor(groups[3]).Position("")
			require.NoError(t, err)
			return strings.Replace(match, groups[3], fmt.Sprintf("<cursor %d.%d>", life, seq), 1)
		case groups[4] != "":
			return strings.Replace(match, groups[4], s.name("page", groups[4]), 1)
		case groups[5] != "":
			return `"resident":"<bool>"` // an agent is known to be there, or gone, a moment late
		case strings.HasPrefix(match, `"pid`):
			return `"pid":0`
		case strings.HasPrefix(match, `"secret`):
			return `"secret":"<secret>"`
		case strings.HasPrefix(match, `"bytes`):
			return match[:strings.Index(match, ":")] + `:"<size>"`
		}
		return `"durationMs":0`
	})
	return text + "\n"
}

func (s *scrubber) name(kind, value string) string {
	if s.names[value] == "" {
		s.counts[kind]++
		s.names[value] = fmt.Sprintf("<%s %d>", kind, s.counts[kind])
	}
	return s.names[value]
}

// restore returns a request as it is sent.
func (s *scrubber) restore(text string) string {
	for value, name := range s.names {
		text = strings.ReplaceAll(text, name, value)
	}
	text = cursors.ReplaceAllStringFunc(text, func(match string) string {
		groups := cursors.FindStringSubmatch(match)
		life, _ := strconv.ParseInt(groups[1], 10, 64)
		seq, _ := strconv.ParseInt(groups[2], 10, 64)
		return string(sessions.CursorAt(sessions.Incarnation(life), seq))
	})
	return escaped.ReplaceAllStringFunc(text, func(match string) string {
		code, _ := strconv.ParseUint(match[2:], 16, 8)
		return string([]byte{byte(code)})
	})
}

// Every operation appears in a transcript.
func TestTranscriptsCoverEveryOperation(t *testing.T) {
	files, err := filepath.Glob("testdata/protocol/*.txtar")
	require.NoError(t, err)
	shown := map[api.Op]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for i, section := range archive.Files {
			var request api.Request
			if !strings.HasSuffix(section.Name, " request") || json.Unmarshal(section.Data, &request) != nil || i+1 == len(archive.Files) {
				continue
			}
			if strings.Contains(string(archive.Files[i+1].Data), `"ok":true`) {
				shown[request.Op] = true
			}
		}
	}
	for _, row := range api.Ops() {
		require.True(t, shown[row.Op], "no transcript in testdata/protocol shows %s succeed", row.Op)
	}
}
