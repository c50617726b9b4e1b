package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// overflow is a step of a model whose context window does not take the request.
var overflow = scripted.Step{Overflow: true}

// narrow is an oracle whose model has a window of so many bytes. It answers what
// asks for a summary itself, and leaves the rest to another one.
type narrow struct {
	oracle.Oracle
	window int
}

func (n narrow) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	size := len(r.System)
	for _, m := range r.Messages {
		size += int(sessions.ContentBytes(m.Content))
		for _, c := range m.ToolCalls {
			size += len(c.Path) + len(c.Args)
		}
	}
	switch {
	case size > n.window:
		return scripted.New(overflow).Infer(ctx, r)
	case isSummary(r):
		said := strings.Count(sessions.TextOf(r.Messages[0].Content), "[user]")
		return scripted.New(costing(text(fmt.Sprintf("They spoke %d times.", said)))).Infer(ctx, r)
	default:
		return n.Oracle.Infer(ctx, r)
	}
}

// isSummary reports whether a request asks for a summary.
func isSummary(r oracle.Request) bool { return strings.HasPrefix(r.System, "You summarise") }

// summaries returns what frames tell of summaries.
func summaries(w *actortest.World, at sessions.Address) (list []sessions.Summarised) {
	for _, f := range w.Frames(at) {
		if s, ok := f.Body.(sessions.Summarised); ok {
			list = append(list, s)
		}
	}
	return list
}

// bytesOf is what a model gets, as JSON.
func bytesOf(t *testing.T, r oracle.Request) string {
	t.Helper()
	data, err := json.Marshal(r)
	require.NoError(t, err)
	return string(data)
}

func TestAConversationMayOutgrowTheModelsWindow(t *testing.T) {
	o := scripted.Strict(narrow{script(), 2500})
	w := world(t, o, nil)
	at := actortest.Key("a")
	words := strings.Repeat("word ", 30)
	for i := range 60 {
		require.Equal(t, "fine", w.Say(at, fmt.Sprint(i, " ", words)))
	}
	history := w.History(at)
	require.Len(t, history, 120, "what is stored stays")
	for i := range 60 {
		require.Equal(t, fmt.Sprint(i, " ", words), sessions.TextOf(history[2*i].Content))
	}
	told := summaries(w, at)
	require.Greater(t, len(told), 3)
	for i, s := range told {
		require.Equal(t, 1, s.Attempt, "one was enough")
		require.Contains(t, s.Text, "They spoke")
		if i > 0 {
			require.Greater(t, s.ThroughSeq, told[i-1].ThroughSeq)
		}
	}
	last := o.Requests()[len(o.Requests())-1]
	require.Contains(t, sessions.TextOf(last.Messages[0].Content), told[len(told)-1].Text)
	require.Equal(t, history[told[len(told)-1].ThroughSeq:119], last.Messages[1:])
	require.Equal(t, sessions.Usage{InputTokens: 60, OutputTokens: 40, CachedTokens: 50, Calls: 1},
		summaryUsage(w, at), "what the summaries consumed is told")
	for _, turn := range w.Turns(at) {
		require.Equal(t, 1, turn.Iterations, "neither a summary nor a call that was refused is one of the turn's")
	}
}

// summaryUsage is the usage that is told with the last summary.
func summaryUsage(w *actortest.World, at sessions.Address) (last sessions.Usage) {
	frames := w.Frames(at)
	for i, f := range frames {
		if f.Type() == sessions.FrameSummary {
			last = frames[i-1].Body.(sessions.UsageReported).Usage
		}
	}
	return last
}

// The model's input is the same bytes whether the agent stayed, left, or the host
// was started again.
func TestAfterASummaryTheInputIsTheSameBytes(t *testing.T) {
	said := func(again func(*actortest.World) *actortest.World, change ...func(*actors.Profile)) string {
		o := scripted.Strict(narrow{script(), 2000})
		w := actortest.Open(t, profiles(o, change...), actortest.Config{})
		at := actortest.Key("a")
		for i := range 12 {
			w.Say(at, fmt.Sprint(i, strings.Repeat(" <word> &", 20)))
		}
		require.NotEmpty(t, summaries(w, at))
		w = again(w)
		defer w.Close()
		w.Say(at, "and now?")
		return bytesOf(t, withoutLife(o.Requests()[len(o.Requests())-1]))
	}
	stayed := said(func(w *actortest.World) *actortest.World { return w })
	require.Equal(t, stayed, said(func(w *actortest.World) *actortest.World {
		w.AwaitIdle()
		return w
	}, shortTTL))
}

// withoutLife takes from messages what differs from one session to another.
func withoutLife(r oracle.Request) oracle.Request {
	for i := range r.Messages {
		r.Messages[i].TurnID, r.Messages[i].CreatedAt = "", 0
	}
	return r
}

func TestASummaryOutlivesARestart(t *testing.T) {
	first := scripted.Strict(narrow{script(), 2000})
	w := actortest.Open(t, profiles(first), actortest.Config{})
	at := actortest.Key("a")
	for i := range 12 {
		w.Say(at, fmt.Sprint(i, strings.Repeat(" <word> &", 20)))
	}
	told := summaries(w, at)
	last := first.Requests()[len(first.Requests())-1]
	second := scripted.Strict(narrow{script(), 2000})
	w = cutAndReopen(t, w, profiles(second), nil)
	w.Say(at, "and now?")
	require.Equal(t, told, summaries(w, at))
	next := second.Requests()[0]
	require.Equal(t, last.Messages, next.Messages[:len(last.Messages)])
}

// A turn that is long by itself is cut behind its user message, which stays.
func TestALongTurnKeepsItsUserMessage(t *testing.T) {
	steps := append(slices.Repeat([]scripted.Step{calls("/t/one", "/t/two")}, 30), text("done"))
	o := scripted.Strict(narrow{scripted.New(steps...), 2000})
	w := world(t, o, mounts{"/t/one": output(`"` + strings.Repeat("1", 100) + `"`), "/t/two": output(`"` + strings.Repeat("2", 100) + `"`)},
		func(p *actors.Profile) { p.MaxIterations = 31 })
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "a long work"))
	told := summaries(w, at)
	require.Greater(t, len(told), 3, "the bound is of one model call")
	require.Len(t, w.History(at), 1+3*30+1)
	for _, r := range o.Requests() {
		if !isSummary(r) {
			require.Equal(t, 1, strings.Count(bytesOf(t, r), "a long work"), "the user's message is there, once")
		}
	}
	require.Equal(t, 31, w.Turns(at)[0].Iterations)
}

// One tool's output can be more than the window by itself.
func TestAnOutputLargerThanTheWindowIsSummarisedByExcerpts(t *testing.T) {
	o := scripted.Strict(narrow{scripted.New(text("fine"), calls("/t/big"), text("done"), text("fine")), 20_000})
	big := output(`"begin ` + strings.Repeat("é", 50_000) + ` end"`)
	w := world(t, o, mounts{"/t/big": big})
	at := actortest.Key("a")
	require.Equal(t, "fine", w.Say(at, "hello"))
	require.Equal(t, "done", w.Say(at, "work"))
	var asked []string
	for _, r := range o.Requests() {
		if isSummary(r) {
			asked = append(asked, sessions.TextOf(r.Messages[0].Content))
		}
	}
	require.Contains(t, strings.Join(asked, ""), "bytes are left out here")
	require.Len(t, summaries(w, at), 2, "of what was before, then of the output")
	require.Equal(t, "fine", w.Say(at, "go on"))
}

func TestWhatIsTooLongToSummariseIsHalved(t *testing.T) {
	history := make([]sessions.Message, 0, 41)
	for i := range 20 {
		history = append(history, sessions.Message{Role: sessions.RoleUser, Content: sessions.Text(fmt.Sprint(i, strings.Repeat(" word", 40)))},
			sessions.Message{Role: sessions.RoleAssistant, Content: sessions.Text("yes")})
	}
	o := scripted.Strict(narrow{script(), 2500})
	w := world(t, o, nil)
	at := actortest.ID("seeded")
	_, err := w.Store.SeedSession(t.Context(), sessions.SeedSession{Owner: actortest.Owner, At: at, Profile: sessions.DefaultProfile,
		Messages: history, Now: 1})
	require.NoError(t, err)
	require.Equal(t, "fine", w.Say(at, "and now?"))
	told := summaries(w, at)
	require.Greater(t, len(told), 1)
	for i, s := range told {
		require.Equal(t, i+1, s.Attempt)
	}
	require.Len(t, w.History(at), 42)
}

func TestAModelThatAlwaysOverflowsEndsTheTurnClearly(t *testing.T) {
	always := overflow
	always.Repeat = true
	for name, before := range map[string]int{"nothing to summarise": 0, "a little": 1, "much": 200} {
		t.Run(name, func(t *testing.T) {
			o := scripted.Strict(scripted.New(append(slices.Repeat([]scripted.Step{text("fine")}, before), always)...))
			w := world(t, o, nil)
			at := actortest.Key("a")
			for range before {
				require.Equal(t, "fine", w.Say(at, "hello"))
			}
			reply := w.Send(at, "work").Failed(sessions.CodePayloadTooLarge)
			require.Equal(t, "contextWindow", reply.Err.Details["limit"])
			require.Contains(t, reply.Err.Message, "larger window")
			require.NotContains(t, reply.Err.Message, "script")
			require.LessOrEqual(t, len(o.Requests())-before, 7)
			require.Empty(t, summaries(w, at))
			require.Len(t, w.History(at), 2*before+1)
			require.Equal(t, sessions.StatusFailed, w.Session(at).Status)
			require.EqualValues(t, len(o.Requests()), w.Session(at).Usage.Calls)
			w.Send(at, "again").Failed(sessions.CodePayloadTooLarge)
		})
	}
}

// The model may summarise and still not have enough room: that ends too.
func TestSummariesForOneCallAreBounded(t *testing.T) {
	o := scripted.Strict(scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "Summarise", Steps: []scripted.Step{text("They met.")}},
		{When: "work", Steps: []scripted.Step{overflow}},
		{Steps: []scripted.Step{text("fine")}},
	}}))
	w := world(t, o, nil)
	at := actortest.Key("a")
	for range 40 {
		require.Equal(t, "fine", w.Say(at, "hello"))
	}
	reply := w.Send(at, "work").Failed(sessions.CodePayloadTooLarge)
	require.EqualValues(t, 3, reply.Err.Details["summaries"])
	told := summaries(w, at)
	require.Len(t, told, 3)
	require.EqualValues(t, 80, told[2].ThroughSeq, "the last one is of all there was")
	require.Len(t, o.Requests(), 40+4+3)
	require.Equal(t, "fine", w.Say(at, "go on"))
	require.Len(t, o.Requests()[len(o.Requests())-1].Messages, 3, "the summary, the message of the turn that failed, and the new one")
}

// turnsBefore are two turns to be summarised, as scripted.New plays them.
func turnsBefore(steps ...scripted.Step) []scripted.Step {
	return append([]scripted.Step{text("one"), text("two")}, steps...)
}

// saidBefore asks for turnsBefore.
func saidBefore(w *actortest.World, at sessions.Address) {
	w.Say(at, "first")
	w.Say(at, "second")
}

func TestTextBeforeAnOverflowIsVoid(t *testing.T) {
	w := world(t, scripted.New(turnsBefore(scripted.Step{Text: "Well, ", Overflow: true}, text("They met."), text("Yes."))...), nil)
	at := actortest.Key("a")
	saidBefore(w, at)
	require.Equal(t, "Yes.", w.Say(at, "work"))
	var parts []sessions.TextPart
	for _, f := range w.Frames(at) {
		if p, ok := f.Body.(sessions.TextPart); ok {
			parts = append(parts, p)
		}
	}
	require.Equal(t, sessions.TextPart{Step: 1, Attempt: 2, Text: "Yes."}, parts[len(parts)-1])
}

func TestASummaryThatTheModelDoesNotGiveFailsTheTurn(t *testing.T) {
	for name, step := range map[string]scripted.Step{
		"failure": {Fail: "boom"},
		"refusal": {Text: "I cannot.", Stop: oracle.StopRefusal},
		"empty":   {},
		"blank":   {Text: " \n"},
		"a call":  calls("/t/one"),
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t, scripted.New(turnsBefore(overflow, step, overflow, text("They met."), text("Yes."))...), nil)
			at := actortest.Key("a")
			saidBefore(w, at)
			reply := w.Send(at, "work").Failed(sessions.CodeLLMAPIFailure)
			require.NotContains(t, reply.Err.Message, "boom")
			require.Empty(t, summaries(w, at))
			require.Len(t, w.History(at), 5)
			require.Equal(t, "Yes.", retry(w, at).Completed(), "a retry summarises anew")
			require.Len(t, w.History(at), 6)
		})
	}
}

// retry takes the session's last turn up again.
func retry(w *actortest.World, at sessions.Address) *actortest.Call {
	return w.Send(at, "", func(p *actors.Prompt) { p.Content, p.Retry = nil, new(sessions.TurnID) })
}

func TestUsageOfASummaryIsTheTurns(t *testing.T) {
	o := scripted.New(turnsBefore(overflow, costing(text("They met.")), costing(text("Yes.")))...)
	w := world(t, o, nil)
	at := actortest.Key("a")
	saidBefore(w, at)
	require.Equal(t, "Yes.", w.Say(at, "work"))
	turn := w.Turns(at)[2]
	require.EqualValues(t, 200, turn.Usage.Tokens())
	require.EqualValues(t, 3, turn.Usage.Calls, "the one that was refused, the summary, the answer")
}

func TestASummaryHasTheBudgetOfItsTurn(t *testing.T) {
	o := scripted.Strict(scripted.New(turnsBefore(costing(calls("/t/one")), overflow, costing(text("They met.")), text("Yes."))...))
	w := world(t, o, mounts{"/t/one": output(`1`)}, budget(actors.Budget{TurnTokens: 200}))
	at := actortest.Key("a")
	saidBefore(w, at)
	requireOver(t, w.Send(at, "work").Failed(sessions.CodePayloadTooLarge), "turnTokens", 200, 200)
	require.Len(t, o.Requests(), 5, "no call after the summary")
	require.Len(t, summaries(w, at), 1)
}

func TestASummaryIsAskedForWithoutToolsAndSchema(t *testing.T) {
	o := scripted.Strict(scripted.New(turnsBefore(overflow, text("They met."), text(`{"ok":true}`))...))
	heat := 0.5
	w := world(t, o, mounts{"/t/one": output(`1`)}, func(p *actors.Profile) {
		p.Params.Temperature = &heat
		p.AnswerSchema = json.RawMessage(`{"type":"object"}`)
	})
	at := actortest.Key("a")
	saidBefore(w, at)
	w.Say(at, "work")
	asked := o.Requests()[3]
	require.Len(t, asked.Messages, 1)
	require.Empty(t, asked.Tools)
	require.Empty(t, asked.Schema)
	require.Equal(t, &heat, asked.Params.Temperature)
	transcript := sessions.TextOf(asked.Messages[0].Content)
	require.Contains(t, transcript, "[user]\nfirst\n\n[assistant]\none\n")
	require.NotContains(t, transcript, "work")
	require.NotEmpty(t, o.Requests()[4].Tools)
}
