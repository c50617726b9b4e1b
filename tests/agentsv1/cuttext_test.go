package agentsv1

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/oracle/scripted"
	"agenthost/persistence/memory"
	"agenthost/sessions"
)

// A text that a crash has cut is ended, whatever the model says when it is asked again,
// also for those who have had more of it than was kept.
func TestATextThatACrashHasCut(t *testing.T) {
	call := calling("/builtin/echo", `{"text":"x"}`)
	for name, c := range map[string]struct {
		again scripted.Step
		ended string // the first text in the end, as readers are told
		state string
	}{
		"calls only":    {scripted.Step{Calls: []scripted.Call{call}}, "one two ", "incomplete"},
		"another text":  {scripted.Step{Text: "something else", Calls: []scripted.Call{call}}, "something else", "completed"},
		"the same text": {scripted.Step{Text: "one two three four", Calls: []scripted.Call{call}}, "one two three four", "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, playing(scripted.Step{Deltas: slowly("one ", "two ", "three "), Hang: true}))
			s := w.tell(body(""))
			s.say("go")
			pieces := 0
			before := s.hear("third piece of text", func(e seen) bool {
				if e.name == "turn.output_text.delta" {
					pieces++
				}
				return pieces == 3 // by now the first two are durable
			})
			left := w.afterAKill(playing(c.again, scripted.Step{Text: "end"}), fitting{})
			left.until(s.id, "idle")
			for i := range before {
				var rest []seen
				for _, e := range left.attach(s.id, before[i].id).until("agent.session.idle") {
					rest = append(rest, short(e))
				}
				whole := slices.Concat(before[:i+1], rest)
				about := fmt.Sprint("behind ", i, " ", brief(before[i : i+1])[0])
				requireOnce(t, whole)
				requireWhole(t, whole)
				first := doneMessages(whole)[1]
				require.Equal(t, c.state, first.Get("status").String(), about)
				require.Equal(t, c.ended, first.Get("content.0.text").String(), about)
				if streamed := texts(whole)[first.Get("id").String()]; name == "the same text" && i < len(before)-1 {
					require.Equal(t, c.ended, streamed, about)
				} else { // nothing says how that goes on which was not kept
					require.Contains(t, "one two three ", streamed, about)
				}
			}
			listed := left.items(s.id)
			require.Equal(t, "message", listed[0].Type)
			require.Equal(t, c.state == "completed", listed[1].Type == "message", "what is incomplete is not listed")
		})
	}
}

// doneMessages returns the user's message and those that were done.
func doneMessages(events []seen) (all []gjson.Result) {
	for _, e := range events {
		item := gjson.Get(e.data, "item")
		if item.Get("type").String() == "message" && (e.name == "turn.item.done" || item.Get("role").String() == "user") {
			all = append(all, item)
		}
	}
	return all
}

// The last event of a stream that ends before its time has an id of its own, behind which
// nobody can come back.
func TestNobodyComesBackBehindAnError(t *testing.T) {
	w := newFitted(t, answers("ok"), fitting{wrap: func(other sessions.Store) sessions.Store {
		require.NoError(t, other.Close())
		return memory.New(memory.Config{FramesPerSession: 16})
	}})
	id := w.made("", "idle")
	live := w.attach(id, "")
	require.NoError(t, w.sessions().Events.New(w.ctx(), id, saying("first", "hello")))
	first := live.until("agent.session.idle")
	for i := range 6 {
		require.NoError(t, w.sessions().Events.New(w.ctx(), id, saying(fmt.Sprint(i), "hello again")))
		live.until("agent.session.idle")
	}
	ids := map[string]bool{}
	for _, last := range []seen{first[0], first[0], first[len(first)-2]} {
		f := w.attach(id, last.id)
		e, ok := f.next()
		require.True(t, ok)
		require.Equal(t, "error", e.name)
		require.Equal(t, "events_unavailable", gjson.Get(e.data, "error.code").String())
		require.Empty(t, e.id, "whoever goes by ids is where he was")
		own := gjson.Get(e.data, "event_id").String()
		require.NotEmpty(t, own)
		require.False(t, ids[own])
		ids[own] = true
		_, ok = f.next()
		require.False(t, ok, "it is the last")
		response := w.plain("GET", "/v1/agents/sessions/"+id+"/events", "", http.Header{"Last-Event-Id": {own}})
		require.Equal(t, 400, response.StatusCode)
		require.Equal(t, "The Last-Event-ID is not of an event of this session.", gjson.Get(textOf(w, response), "error.message").String())
	}
}

// Whoever has had all of a turn goes on behind it, however little is kept of it.
func TestReadersComeBackBehindTurnsThatAreNotKept(t *testing.T) {
	w := newFitted(t, everyState(), fitting{wrap: func(other sessions.Store) sessions.Store {
		require.NoError(t, other.Close())
		return memory.New(memory.Config{FramesPerSession: 2}) // while a turn runs it keeps all
	}})
	id := w.made("", "idle")
	live := w.attach(id, "")
	require.NoError(t, w.sessions().Events.New(w.ctx(), id, saying("first", "hang")))
	live.until("agent.session.turn.in_progress")
	w.cancel(id)
	ends := live.until("agent.session.idle")
	require.Equal(t, []string{"turn.cancelled", "idle"}, names(ends))
	e, ok := w.attach(id, ends[0].id).next()
	require.True(t, ok)
	require.Equal(t, "events_unavailable", gjson.Get(e.data, "error.code").String(), "what is left of the turn does not tell what else it had")
	f := w.attach(id, ends[1].id)
	require.NoError(t, w.sessions().Events.New(w.ctx(), id, saying("next", "hang")))
	require.Equal(t, []string{"turn.created", "turn.item.added"}, names(f.until("agent.session.turn.item.added")))
}
