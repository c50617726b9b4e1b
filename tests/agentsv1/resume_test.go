package agentsv1

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
	"agenthost/tools/subagent"
)

// slowly is a text of which a part becomes durable before the next comes.
func slowly(parts ...string) (deltas []scripted.Delta) {
	for i, part := range parts {
		d := scripted.Delta{Text: part}
		if i > 0 {
			d.After = 600 * time.Millisecond
		}
		deltas = append(deltas, d)
	}
	return deltas
}

// stories is a world whose agent does all kinds of things, by what it is told.
func stories(t *testing.T) *world {
	t.Helper()
	look := func(args string) scripted.Call { return calling("/functions/look", args) }
	echo, kid := calling("/builtin/echo", `{"text":"x"}`), calling("/agents/helper", `{"action":"spawn","name":"kid","prompt":"the end"}`)
	script := scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "the end", Steps: []scripted.Step{{Text: "well"}}},
		{When: "slowly", Steps: []scripted.Step{{Deltas: slowly("one ", "two ", "three")}}},
		{When: "with calls", Steps: []scripted.Step{{Deltas: slowly("let ", "me"), Calls: []scripted.Call{echo, echo}}, {Calls: []scripted.Call{echo}}, {Text: "it rains"}}},
		{When: "for clients", Steps: []scripted.Step{{Text: "look", Calls: []scripted.Call{echo, look(`{"where":"a"}`), look(`{}`), look(`{"where":"b"}`)}}, {Text: "seen"}}},
		{When: "approved", Steps: []scripted.Step{{Calls: []scripted.Call{calling("/guarded", `{}`)}}, {Text: "done"}}},
		{When: "family", Steps: []scripted.Step{{Text: "kid", Calls: []scripted.Call{kid}}, {Text: "done"}}},
		{When: "hang", Steps: []scripted.Step{{Text: "hm", Hang: true}}},
		{When: "broken", Steps: []scripted.Step{{Text: "oh", Fail: "broken"}}},
		{When: "silent", Steps: []scripted.Step{{Hang: true}}},
	}})
	tree := &tools.Tree{}
	require.NoError(t, tools.MountBuiltins(tree, time.Now))
	require.NoError(t, subagent.Mount(tree, "helper"))
	require.NoError(t, tree.Mount("/guarded", tools.MustFunc("Acts.", func(context.Context, tools.Call, struct{}) (string, error) { return "done", nil })))
	return newFitted(t, &moody{Oracle: script}, fitting{tools: tree, fit: func(profiles map[string]host.Profile) {
		p := profiles[sessions.DefaultProfile]
		profiles["helper"] = p
		p.Tools, p.NeedsApproval = []string{"/builtin", "/agents", "/guarded"}, []string{"/guarded"}
		profiles[sessions.DefaultProfile] = p
	}})
}

// moody is an oracle whose model takes few messages, and does something else first when
// it is told to.
type moody struct {
	oracle.Oracle
	mu   sync.Mutex
	told map[string]bool
}

func (m *moody) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	switch {
	case strings.HasPrefix(r.System, "You summarise"):
		return scripted.New(scripted.Step{Text: "They spoke."}).Infer(ctx, r)
	case len(r.Messages) > 8:
		return scripted.New(scripted.Step{Overflow: true}).Infer(ctx, r)
	}
	for _, said := range r.Messages {
		text := sessions.TextOf(said.Content)
		step, ok := map[string]scripted.Step{"waits": {Hang: true}, "fails": {Text: "oh", Fail: "broken"}}[first(text)]
		if said.Role == sessions.RoleUser && ok && m.isNew(text) {
			return scripted.New(step).Infer(ctx, r)
		}
	}
	return m.Oracle.Infer(ctx, r)
}

func (m *moody) isNew(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told == nil {
		m.told = map[string]bool{}
	}
	known := m.told[text]
	m.told[text] = true
	return !known
}

// first returns the word behind "first", if the text begins with that.
func first(text string) string {
	rest, _ := strings.CutPrefix(text, "first ")
	word, _, _ := strings.Cut(rest, ",")
	return word
}

// TestResumeBehindEveryEvent comes back behind every event of every kind of turn.
func TestResumeBehindEveryEvent(t *testing.T) {
	delta := named("turn.output_text.delta")
	for name, act := range map[string]func(*story){
		"plain":        func(s *story) { s.say("slowly") },
		"calls":        func(s *story) { s.say("with calls") },
		"client calls": func(s *story) { s.say("for clients"); s.answers(true) },
		"client calls that are cancelled": func(s *story) {
			s.say("for clients")
			s.until(s.id, "requires_action")
			s.cancel(s.id)
		},
		"approved":  func(s *story) { s.say("approved"); s.answers(true) },
		"declined":  func(s *story) { s.say("approved"); s.answers(false) },
		"family":    func(s *story) { s.say("family") },
		"broken":    func(s *story) { s.say("broken") },
		"cancelled": func(s *story) { s.say("hang"); s.hear("text", delta); s.cancel(s.id) },
		"retried": func(s *story) {
			s.say("first waits, slowly")
			s.hear("begin", named("turn.in_progress"))
			s.cancel(s.id)
			s.settled()
			s.retry()
		},
		"retried with calls": func(s *story) { s.say("first fails, with calls"); s.failed(); s.retry() },
		"retried in vain":    func(s *story) { s.say("broken"); s.failed(); s.retry() },
		"steered": func(s *story) {
			s.say("with calls")
			s.hear("text", delta)
			s.say("steered")
		},
		"steered too late": func(s *story) {
			s.say("hang")
			s.hear("text", delta)
			s.say("steered")
			s.cancel(s.id)
		},
		"queued": func(s *story) {
			s.say("with calls")
			s.hear("text", delta)
			s.prompt("q", "the end, queued", sessions.BusyQueue)
			s.hear("the queued turn's end", ends(2))
		},
		"interrupted": func(s *story) {
			s.say("hang")
			s.hear("text", delta)
			s.prompt("i", "slowly", sessions.BusyInterrupt)
			s.hear("the other turn's end", ends(2))
		},
		"withdrawn while another thinks": func(s *story) {
			s.say("silent")
			s.hear("begin", named("turn.in_progress"))
			s.prompt("q", "queued", sessions.BusyQueue)
			s.withdraw("q")
			s.cancel(s.id)
		},
		"withdrawn while another is retried": func(s *story) {
			s.say("first fails, silent")
			s.failed()
			s.retry()
			s.until(s.id, "in_progress")
			s.prompt("q", "queued", sessions.BusyQueue)
			s.withdraw("q")
			s.cancel(s.id)
		},
		"withdrawn while another waits": func(s *story) {
			s.say("for clients")
			s.until(s.id, "requires_action")
			s.prompt("q", "queued", sessions.BusyQueue)
			s.withdraw("q")
			s.answers(true)
		},
		"summarised": func(s *story) {
			for range 5 {
				s.say("first the end")
				s.settled()
			}
			s.say("with calls")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stories(t).tell(lookingWhere(""))
			act(s)
			all := s.ended()
			requireWhole(t, all)
			s.requireResumable(all)
		})
	}
}
