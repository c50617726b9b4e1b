package agentsv1

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/api"
	"agenthost/sessions"
)

// story is a session that one reader follows from its first event on, and from each of
// whose events another reader goes on at once.
type story struct {
	*world
	id      string
	live    *follower
	told    []seen      // what the reader has read, with short names
	resumed []*follower // by event
	said    int
}

// tell makes a session and follows it.
func (w *world) tell(p openai.BetaAgentSessionNewParams) *story {
	w.t.Helper()
	made, err := w.sessions().New(w.ctx(), p)
	require.NoError(w.t, err)
	return &story{world: w, id: made.ID, live: w.attach(made.ID, "")}
}

// hear reads until an event for which is is true, and returns all up to that. What was
// read before is asked first.
func (s *story) hear(what string, is func(seen) bool) []seen {
	s.t.Helper()
	for i := 0; ; i++ {
		if i == len(s.told) {
			e, ok := s.live.next()
			require.True(s.t, ok, "no %s: %s", what, strings.Join(brief(s.told), "\n"))
			s.told = append(s.told, short(e))
			s.resumed = append(s.resumed, s.attach(s.id, e.id))
		}
		if is(s.told[i]) {
			return s.told[:i+1]
		}
	}
}

func short(e seen) seen {
	e.name = strings.TrimPrefix(e.name, "agent.session.")
	return e
}

// rests returns what those get who come back behind event number i: at once, and after
// the last event of all.
func (s *story) rests(all []seen, i int) (rests [][]seen) {
	s.t.Helper()
	for _, f := range []*follower{s.resumed[i], s.attach(s.id, all[i].id)} {
		var rest []seen
		for len(rest) == 0 || rest[len(rest)-1].id != all[len(all)-1].id {
			e, ok := f.next()
			require.True(s.t, ok, "behind %d, %s: %s", i, brief(all[i : i+1])[0], strings.Join(brief(rest), "\n"))
			rest = append(rest, short(e))
		}
		f.close()
		rests = append(rests, rest)
	}
	return rests
}

// named is true for events of a name.
func named(name string) func(seen) bool { return func(e seen) bool { return e.name == name } }

// brief returns events for people.
func brief(events []seen) (lines []string) {
	for _, e := range events {
		line := e.name
		for _, member := range []string{"turn_id", "item.id", "item_id", "item.type", "item.status", "output_index", "delta"} {
			if v := gjson.Get(e.data, member); v.Exists() {
				line += " " + v.Raw
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *story) say(text string) {
	s.t.Helper()
	s.said++
	require.NoError(s.t, s.sessions().Events.New(s.ctx(), s.id, saying(fmt.Sprint("said ", s.said), text)))
}

func (s *story) address() api.Address { return api.Address{SessionID: sessions.SessionID(s.id)} }

// prompt sends what this API has no words for.
func (s *story) prompt(id sessions.RequestID, text string, busy sessions.BusyPolicy) {
	s.t.Helper()
	_, err := s.host.Prompt(s.ctx(), &api.PromptArgs{Address: s.address(), Text: text, RequestID: id, Busy: busy, Wait: api.WaitAccepted}, nil)
	require.NoError(s.t, err)
}

func (s *story) withdraw(id sessions.RequestID) {
	s.t.Helper()
	got, err := s.host.Cancel(s.ctx(), &api.CancelArgs{Address: s.address(), RequestID: id})
	require.NoError(s.t, err)
	require.True(s.t, got.Cancelled)
}

func (s *story) retry() {
	s.t.Helper()
	_, err := s.host.Retry(s.ctx(), &api.RetryArgs{Address: s.address(), Wait: api.WaitAccepted}, nil)
	require.NoError(s.t, err)
}

// answers gives the calls that wait what they wait for.
func (s *story) answers(success bool) {
	s.t.Helper()
	for _, action := range s.until(s.id, "requires_action").RequiredActions {
		require.NoError(s.t, s.give(s.id, action, success, "seen"))
	}
}

// ended ends the story with a turn that all readers know.
func (s *story) ended() []seen {
	s.t.Helper()
	s.settled()
	s.say("the end")
	last := ""
	return s.hear("end", func(e seen) bool {
		if gjson.Get(e.data, "item.content.0.text").String() == "the end" {
			last = gjson.Get(e.data, "turn_id").String()
		}
		ended := e.name == "idle" && last == ""
		if e.name == "turn.completed" && gjson.Get(e.data, "turn_id").String() == last {
			last = "it has ended"
		}
		return !ended && e.name == "idle" && last == "it has ended"
	})
}

// settled waits until nothing of the session runs.
func (s *story) settled() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		got, err := s.sessions().Get(s.ctx(), s.id)
		return err == nil && (got.Status == "idle" || got.Status == "failed")
	}, patience, 5*time.Millisecond)
}

func (s *story) failed() {
	s.t.Helper()
	s.hear("end", named("failed"))
	s.settled()
}

// ends is true for the end of turn number n.
func ends(n int) func(seen) bool {
	return func(e seen) bool {
		if slices.Contains([]string{"turn.completed", "turn.failed", "turn.cancelled"}, e.name) {
			n--
		}
		return n == 0
	}
}

// requireResumable requires that each reader who comes back behind an event gets the
// rest, the same whether he came at once or after the end.
func (s *story) requireResumable(all []seen) {
	s.t.Helper()
	requireOnce(s.t, all)
	for i := range all[:len(all)-1] {
		for _, rest := range s.rests(all, i) {
			s.requireRest(all, i, rest)
		}
	}
}

func requireOnce(t *testing.T, events []seen) {
	t.Helper()
	ids := map[string]bool{}
	for _, e := range events {
		require.False(t, ids[e.id], "%s comes twice", e.name)
		ids[e.id] = true
	}
}

// requireRest requires that a reader who has had the events up to number i got those
// behind it. How text is cut may differ, and calls to be run are told to those only who
// come while they wait.
func (s *story) requireRest(all []seen, i int, rest []seen) {
	s.t.Helper()
	requireOnce(s.t, rest)
	require.Equal(s.t, strings.Join(signs(all[i+1:]), "\n"), strings.Join(signs(rest), "\n"), "behind %d, %s", i, brief(all[i : i+1])[0])
	require.Equal(s.t, texts(all), texts(slices.Concat(all[:i+1], rest)), "behind %d, %s", i, brief(all[i : i+1])[0])
}

// signs tells events apart.
func signs(events []seen) (all []string) {
	for _, e := range events {
		if e.name != "turn.output_text.delta" && !isCallToRun(e) {
			all = append(all, e.id+" "+brief([]seen{e})[0])
		}
	}
	return all
}

// texts returns the streamed text of each item.
func texts(events []seen) map[string]string {
	all := map[string]string{}
	for _, e := range events {
		if e.name == "turn.output_text.delta" {
			all[gjson.Get(e.data, "item_id").String()] += gjson.Get(e.data, "delta").String()
		}
	}
	return all
}

// requireWhole requires that all that was begun was ended, turn by turn.
func requireWhole(t *testing.T, events []seen) {
	t.Helper()
	created, began, ended, open := map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}
	running := ""
	for _, e := range events {
		turn := gjson.Get(e.data, "turn_id").String()
		switch e.name {
		case "turn.created":
			created[turn]++
		case "turn.in_progress":
			require.Empty(t, running, "one turn runs at a time")
			began[turn]++
			running = turn
		case "turn.completed", "turn.failed", "turn.cancelled":
			ended[turn]++
			if turn == running {
				running = ""
			}
		case "idle", "failed":
			require.Empty(t, running, "a turn runs: %s", strings.Join(brief(events), "\n"))
		case "turn.item.added":
			if kind := gjson.Get(e.data, "item.type").String(); kind == "mcp_call" || gjson.Get(e.data, "item.role").String() == "assistant" {
				open[gjson.Get(e.data, "item.id").String()] = true
			}
		case "turn.item.done":
			delete(open, gjson.Get(e.data, "item.id").String())
		}
	}
	require.Empty(t, open, "items without an end")
	for turn, n := range created {
		require.Equal(t, 1, n)
		require.Equal(t, 1, ended[turn])
		require.LessOrEqual(t, began[turn], 1)
	}
	require.Len(t, ended, len(created))
}
