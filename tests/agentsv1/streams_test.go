package agentsv1

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/api"
	"agenthost/oracle"
	"agenthost/sessions"
)

// dictated is an oracle whose answers are dictated, part by part, but for those to
// "hello".
type dictated struct{ parts chan oracle.Part }

func newDictated() *dictated { return &dictated{make(chan oracle.Part)} }

func (*dictated) Name() string { return "dictated" }

func (d *dictated) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		if sessions.TextOf(r.Messages[len(r.Messages)-1].Content) == "hello" {
			_ = yield(oracle.TextDelta{Text: "ok"}, nil) && yield(oracle.Stop{Reason: oracle.StopDone}, nil)
			return
		}
		for {
			select {
			case part := <-d.parts:
				if _, last := part.(oracle.Stop); !yield(part, nil) || last {
					return
				}
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}
}

// live is a turn that is followed while it runs, and whose every event another
// reader comes back behind as soon as there is the event.
type live struct {
	*world
	d       *dictated
	id      string
	main    *follower
	had     []seen
	resumed []*follower // resumed[i] has come back behind had[i]
}

func newLive(t *testing.T) *live {
	t.Helper()
	d := newDictated()
	w := newWorld(t, d)
	l := &live{world: w, d: d, id: w.made("", "idle")}
	l.main = w.attach(l.id, "")
	require.NoError(t, w.sessions().Events.New(w.ctx(), l.id, saying("k", "go on")))
	return l
}

// until takes events up to one of a name.
func (l *live) until(name string) {
	l.t.Helper()
	for {
		e, ok := l.main.next()
		require.True(l.t, ok, "the stream ended before %s: %v", name, names(l.had))
		l.had = append(l.had, e)
		l.resumed = append(l.resumed, l.attach(l.id, e.id))
		if e.name == "agent.session."+name {
			return
		}
	}
}

// says has the model say something, which is then seen.
func (l *live) says(texts ...string) {
	l.t.Helper()
	for _, text := range texts {
		l.d.parts <- oracle.TextDelta{Text: text}
		l.until("turn.output_text.delta")
	}
}

// asked is the call that the session waits for.
func (l *live) asked() openai.AgentSessionRequiredActionFunctionCall {
	l.t.Helper()
	got, err := l.sessions().Get(l.ctx(), l.id)
	require.NoError(l.t, err)
	require.Len(l.t, got.RequiredActions, 1)
	return got.RequiredActions[0].AsFunctionCall()
}

// keeps waits until what was said is durable.
func (l *live) keeps() {
	l.t.Helper()
	last := func() int64 {
		got, err := l.host.SessionGet(l.ctx(), &api.SessionGetArgs{Address: api.Address{SessionID: sessions.SessionID(l.id)}})
		require.NoError(l.t, err)
		return got.Session.LastFrame
	}
	before := last()
	l.d.parts <- oracle.TextDelta{Text: "kept "}
	l.until("turn.output_text.delta")
	require.Eventually(l.t, func() bool { return last() > before }, patience, 10*time.Millisecond)
}

// requireWhole requires that all readers have had the same when the turn is over.
func (l *live) requireWhole() {
	l.t.Helper()
	unique := map[string]bool{}
	for _, e := range l.had {
		require.False(l.t, unique[e.id], "%s comes twice", e.name)
		unique[e.id] = true
	}
	end := l.had[len(l.had)-1].name
	for i, r := range l.resumed[:len(l.had)-1] {
		rest := r.until(end)
		about := strings.Join(names(l.had[:i+1]), " ")
		require.Equal(l.t, deltas(l.had), deltas(l.had[:i+1])+deltas(rest), about)
		require.Equal(l.t, shapes(l.had[i+1:]), shapes(rest), about)
		mine := map[string]bool{}
		for _, e := range l.had[:i+1] {
			mine[e.id] = true
		}
		for _, e := range rest {
			require.False(l.t, mine[e.id], "%s comes twice after %s", e.name, about)
			mine[e.id] = true
		}
		require.Equal(l.t, wholes(l.had[i+1:]), wholes(rest), about)
		r.close()
	}
	var hops []seen // of a reader who hangs up after every event
	for last := l.had[0]; last.name != end; {
		hop := l.attach(l.id, last.id)
		last, _ = hop.next()
		hops = append(hops, last)
		hop.close()
	}
	require.Equal(l.t, shapes(l.had[1:]), shapes(hops))
	require.Equal(l.t, deltas(l.had), deltas(hops))
	require.Equal(l.t, wholes(l.had), wholes(hops))
}

// wholes are the whole texts that events end with.
func wholes(events []seen) (all []string) {
	for _, e := range events {
		switch e.name {
		case "agent.session.turn.output_text.done":
			all = append(all, gjson.Get(e.data, "text").String())
		case "agent.session.turn.content_part.done":
			all = append(all, gjson.Get(e.data, "part").Raw)
		case "agent.session.turn.item.done":
			all = append(all, gjson.Get(e.data, "item").Raw)
		}
	}
	return all
}

func TestReadersComeBackInTheMiddleOfATurn(t *testing.T) {
	say := func(l *live) {
		l.until("turn.in_progress")
		l.says("let ", "me ", "look ")
		l.keeps()
		l.says("é", "at ", "it")
	}
	t.Run("that completes", func(t *testing.T) {
		l := newLive(t)
		say(l)
		l.d.parts <- oracle.ToolCall{ID: "c", Function: "/builtin/echo", Args: `{"text":"x"}`}
		l.d.parts <- oracle.Stop{Reason: oracle.StopCalls}
		l.says("it ", "rains", "\n\nevent: x")
		l.keeps()
		l.says("and ", "rains")
		l.d.parts <- oracle.Stop{Reason: oracle.StopDone}
		l.until("idle")
		l.requireWhole()
	})
	t.Run("that is cancelled", func(t *testing.T) {
		l := newLive(t)
		say(l)
		l.cancel(l.id)
		l.until("idle")
		require.Contains(t, names(l.had), "turn.cancelled")
		l.requireWhole()
	})
	t.Run("that fails at once", func(t *testing.T) {
		l := newLive(t)
		l.d.parts <- oracle.Stop{Reason: oracle.StopDone}
		l.until("failed")
		require.Contains(t, names(l.had), "turn.failed")
		l.requireWhole()
	})
	t.Run("that fails in the middle", func(t *testing.T) {
		l := newLive(t)
		say(l)
		l.d.parts <- oracle.ToolCall{ID: "c", Function: "/builtin/echo", Args: `{"text":"x"}`}
		l.d.parts <- oracle.Stop{Reason: oracle.StopCalls}
		l.d.parts <- oracle.Stop{Reason: oracle.StopDone}
		l.until("failed")
		l.requireWhole()
	})
	t.Run("that waits for its client", func(t *testing.T) {
		l := newLive(t)
		say(l)
		l.d.parts <- oracle.ToolCall{ID: "c", Function: "/functions/look", Args: `{}`}
		l.d.parts <- oracle.Stop{Reason: oracle.StopCalls}
		l.until("requires_action")
		action := l.asked()
		require.NoError(t, l.sessions().Events.New(l.ctx(), l.id, openai.BetaAgentSessionEventNewParams{Events: []openai.AgentSessionInputParamUnion{{
			OfParamAgentSessionInputToolResult: &openai.AgentSessionInputParamAgentSessionInputToolResult{CallID: action.CallID, TurnID: action.TurnID,
				Success: true, Output: openai.AgentFunctionCallOutputParamUnion{OfString: openai.String("seen")}}}}}))
		l.says("it ", "rains")
		l.d.parts <- oracle.Stop{Reason: oracle.StopDone}
		l.until("idle")
		l.requireWhole()
	})
	t.Run("that is steered", func(t *testing.T) {
		l := newLive(t)
		say(l)
		require.NoError(t, l.sessions().Events.New(l.ctx(), l.id, saying("k2", "mind that")))
		l.d.parts <- oracle.ToolCall{ID: "c", Function: "/builtin/echo", Args: `{"text":"x"}`}
		l.d.parts <- oracle.Stop{Reason: oracle.StopCalls}
		l.says("it ", "is ", "so")
		l.d.parts <- oracle.Stop{Reason: oracle.StopDone}
		l.until("idle")
		l.requireWhole()
	})
}

// A reader may come back behind an event of a turn before.
func TestReadersComeBackOverTurns(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("", "idle")
	main := w.attach(id, "")
	var had []seen
	for _, text := range []string{"hello", "fail", "hello"} {
		require.NoError(t, w.sessions().Events.New(w.ctx(), id, saying("k"+text+strings.Repeat("x", len(had)), text)))
		end := map[string]string{"hello": "idle", "fail": "failed"}[text]
		had = append(had, main.until("agent.session."+end)...)
	}
	for i, e := range had {
		r := w.attach(id, e.id)
		var rest []seen
		for range had[i+1:] {
			e, ok := r.next()
			require.True(t, ok)
			rest = append(rest, e)
		}
		require.Equal(t, shapes(had[i+1:]), shapes(rest))
		require.Equal(t, deltas(had[i+1:]), deltas(rest))
		r.close()
	}
}

func TestReadersOfOneTurnSeeTheSame(t *testing.T) {
	d := newDictated()
	w := newWorld(t, d)
	id := w.made("", "idle")
	readers := []*follower{w.attach(id, ""), w.attach(id, ""), w.attach(id, "")}
	require.NoError(t, w.sessions().Events.New(w.ctx(), id, saying("k", "go on")))
	d.parts <- oracle.TextDelta{Text: "a"}
	for _, r := range readers { // who are up to date from here on: before, a reader may have read what the store had by then
		require.Equal(t, "a", deltas(r.until("agent.session.turn.output_text.delta")))
	}
	for _, part := range []oracle.Part{oracle.TextDelta{Text: "b"}, oracle.ToolCall{ID: "c", Function: "/builtin/echo", Args: `{"text":"x"}`},
		oracle.Stop{Reason: oracle.StopCalls}, oracle.TextDelta{Text: "c"}, oracle.Stop{Reason: oracle.StopDone}} {
		d.parts <- part
	}
	first := readers[0].until("agent.session.idle")
	for _, r := range readers[1:] {
		require.Equal(t, ids(first), ids(r.until("agent.session.idle")))
	}
}
