package actors_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// aside is a side question under way.
type aside struct {
	w     *actortest.World
	reply chan actors.SideAnswer
}

// asking sends a side question and does not wait.
func asking(w *actortest.World, at sessions.Address, question string) *aside {
	a := &aside{w, make(chan actors.SideAnswer, 1)}
	w.System.ActorSystem().Root.Send(w.System.Root(), &actors.SideQuestion{
		Owner: actortest.Owner, At: at, Question: question, Reply: a.reply,
	})
	return a
}

// answered requires an answer and returns its text.
func (a *aside) answered() string {
	a.w.T.Helper()
	r := <-a.reply
	require.Nil(a.w.T, r.Err, "%v", r.Err)
	return r.Text
}

// refused requires an error of the code.
func (a *aside) refused(code sessions.Code) *sessions.Error {
	a.w.T.Helper()
	r := <-a.reply
	require.NotNil(a.w.T, r.Err, "%q", r.Text)
	require.Equal(a.w.T, code, r.Err.Code, "%v", r.Err)
	require.Empty(a.w.T, r.Text)
	return r.Err
}

// curious returns a strict oracle that plays steps for turns whose text contains
// "work" and says for those that contain "why", a side question's, what it is told.
func curious(why scripted.Step, steps ...scripted.Step) *scripted.StrictOracle {
	return scripted.Strict(scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "why", Steps: []scripted.Step{why}},
		{When: "work", Steps: steps},
		{Steps: []scripted.Step{text("fine")}},
	}}))
}

// stored is all that a side question must leave as it is.
type stored struct {
	session  sessions.Session
	messages []sessions.Message
	frames   []sessions.Frame
	turns    []sessions.Turn
}

func storedOf(w *actortest.World, at sessions.Address) stored {
	w.T.Helper()
	return stored{w.Session(at), w.History(at), w.Frames(at), w.Turns(at)}
}

// requireAside requires that a request begins with the one before, has its system
// text, tools and parameters, and ends with the question.
func requireAside(t *testing.T, before, request oracle.Request, question string) (between []sessions.Message) {
	t.Helper()
	n, last := len(before.Messages), len(request.Messages)-1
	require.Greater(t, len(request.Messages), n)
	require.Equal(t, before.Messages, request.Messages[:n])
	require.Equal(t, sessions.RoleUser, request.Messages[last].Role)
	require.True(t, strings.HasPrefix(sessions.TextOf(request.Messages[last].Content), question))
	between = request.Messages[n:last]
	request.Messages = before.Messages
	require.Equal(t, before, request)
	return between
}

func TestASideQuestionIsAnsweredAndLeavesNothing(t *testing.T) {
	o := curious(costing(text("because")), costing(calls("/t/one")), costing(text("done")))
	w := world(t, o, mounts{"/t/one": output(`1`)})
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	before := storedOf(w, at)

	got, err := w.System.SideQuestion(t.Context(), actors.SideQuestion{Owner: actortest.Owner, At: at, Question: "why?"})
	require.NoError(t, err)
	require.Equal(t, "because", got.Text)
	used1 := sessions.Usage{InputTokens: 60, OutputTokens: 40, CachedTokens: 50, Calls: 1}
	require.Equal(t, used1, got.Usage)
	require.Equal(t, before, storedOf(w, at))
	_, busy := w.System.Counts()
	require.Zero(t, busy)

	life := before.session.Fence.Incarnation
	report := used(t, w, sessions.UsageQuery{By: sessions.UsageBySession, Life: life})
	require.Equal(t, used1.Plus(used1), report.Usage, "the turn's own")
	require.Equal(t, used1, report.SideQuestions)
	require.Equal(t, used1, used(t, w, sessions.UsageQuery{By: sessions.UsageByOwner}).SideQuestions)

	requests := o.Requests()
	between := requireAside(t, requests[1], requests[2], "why?")
	require.Len(t, between, 1, "the turn's answer")
	require.Equal(t, "fine", w.Say(at, "hello"))
	require.Len(t, w.History(at), 6)
}

func TestASideQuestionInMidTurnHasTheReplySoFar(t *testing.T) {
	said := scripted.Step{Deltas: []scripted.Delta{{Text: "half an "}, {Text: "answer"}}, Hang: true}
	o := curious(text("because"), calls("/t/one"), said)
	w := world(t, o, mounts{"/t/one": output(`1`)})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	require.NoError(t, o.Await(t.Context(), 2))
	var request oracle.Request
	w.Eventually(func() bool {
		require.Equal(t, "because", asking(w, at, "why?").answered())
		requests := o.Requests()
		request = requests[len(requests)-1]
		return len(request.Messages) == 5 && sessions.TextOf(request.Messages[3].Content) == "half an answer"
	}, "that the model has said all")
	between := requireAside(t, o.Requests()[1], request, "why?")
	require.True(t, between[0].Interrupted)
	require.Empty(t, between[0].ToolCalls)
	require.Equal(t, sessions.StatusRunning, w.Session(at).Status)
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	require.Equal(t, "half an answer", sessions.TextOf(w.History(at)[3].Content))
	require.Equal(t, "because", asking(w, at, "why?").answered())
}

func TestASideQuestionAnswersOpenCallsWithAStub(t *testing.T) {
	gate := make(chan struct{})
	started := make(chan struct{}, 1)
	o := curious(text("because"), scripted.Step{Text: "I look", Calls: []scripted.Call{{Path: "/t/quick"}, {Path: "/t/slow"}}}, text("done"))
	w := world(t, o, mounts{"/t/quick": output(`1`), "/t/slow": invoke(func(ctx context.Context, call tools.Call) (json.RawMessage, error) {
		started <- struct{}{}
		return gated(gate)(ctx, call)
	})})
	at := actortest.Key("a")
	call := w.Send(at, "work")
	<-started
	require.Equal(t, "because", asking(w, at, "why?").answered())
	requests := o.Requests()
	between := requireAside(t, requests[0], requests[1], "why?")
	require.Len(t, between, 3)
	require.Equal(t, "I look", sessions.TextOf(between[0].Content))
	page, err := w.Store.Messages(t.Context(), w.Session(at).Fence.Incarnation, sessions.MessageQuery{})
	require.NoError(t, err)
	require.Equal(t, page.Messages[1], between[0], "as it is stored")
	require.Equal(t, between[1].Content, between[2].Content, "whether they have ended or not")
	require.Contains(t, string(between[1].Content[0].Value), "no result yet")

	close(gate)
	require.Equal(t, "done", call.Completed())
	require.Len(t, w.History(at), 5)
	require.JSONEq(t, `1`, string(w.History(at)[2].Content[0].Value), "the stub was for the question only")
}

// After an eviction or a restart the request is the same to the byte, the
// parameters that the last prompt has asked for included.
func TestASideQuestionAfterEvictionAndRestart(t *testing.T) {
	again := func() *scripted.StrictOracle { return curious(text("because"), calls("/t/one"), text("done")) }
	tree := func() actors.Config { return actors.Config{Tools: treeOf(t, mounts{"/t/one": output(`1`)})} }
	o := again()
	w := actortest.Open(t, profiles(o, shortTTL), actortest.Config{Config: tree()})
	at := actortest.Key("a")
	warm := func(p *actors.Prompt) { p.Inference.Params.Temperature = new(0.5) }
	require.Equal(t, "done", w.Say(at, "work", warm))
	w.AwaitIdle()
	before := storedOf(w, at)
	require.Equal(t, "because", asking(w, at, "why?").answered())
	w.AwaitIdle()
	first := o.Requests()
	requireAside(t, first[1], first[2], "why?")
	require.Equal(t, new(0.5), first[2].Params.Temperature)
	w.Close()

	o = again()
	w = actortest.New(t, profiles(o), actortest.Config{Path: w.Path, Config: tree()})
	require.Equal(t, "because", asking(w, actortest.ID(before.session.ID), "why?").answered())
	require.Equal(t, first[2], o.Requests()[0])
	require.Equal(t, before, storedOf(w, at))
	require.Equal(t, "done", w.Say(at, "work"))
	require.Equal(t, "because", asking(w, at, "why?").answered())
	require.Nil(t, o.Requests()[3].Params.Temperature)
}

func TestASideQuestionAboutASeededConversation(t *testing.T) {
	o := curious(text("because"))
	w := world(t, o, nil)
	at := actortest.Key("a")
	seed := func(text string) {
		_, err := w.Store.SeedSession(t.Context(), sessions.SeedSession{
			Owner: actortest.Owner, At: at, NewID: "seeded", Profile: sessions.DefaultProfile, Now: sessions.TimeOf(time.Now()),
			Messages: []sessions.Message{{Role: sessions.RoleUser, Content: sessions.Text(text)}},
		})
		require.NoError(t, err)
	}
	seed("one")
	require.Equal(t, "because", asking(w, at, "why?").answered())
	w.Say(at, "hello")
	seed("two")
	require.Equal(t, "because", asking(w, at, "why?").answered(), "with what the agent has not in memory")
	requests := o.Requests()
	require.Len(t, requests[0].Messages, 2)
	require.Len(t, requests[2].Messages, 5)
	require.Equal(t, "two", sessions.TextOf(requests[2].Messages[3].Content))
}

// While the end of a turn is on its way to the store, its reply is there once.
func TestASideQuestionWhileTheEndIsStored(t *testing.T) {
	gate, reached, release := &gatedStore{}, make(chan struct{}, 1), make(chan struct{})
	o := curious(text("because"), text("done"))
	w := actortest.New(t, profiles(o), actortest.Config{Wrap: gate.wrap})
	at := actortest.Key("a")
	gate.set(func(g *gatedStore) {
		g.onCommit = func(c sessions.CommitTurn) error {
			if c.End != nil {
				reached <- struct{}{}
				<-release
			}
			return nil
		}
	})
	call := w.Send(at, "work")
	<-reached
	require.Equal(t, "because", asking(w, at, "why?").answered())
	close(release)
	require.Equal(t, "done", call.Completed())
	require.Equal(t, "because", asking(w, at, "why?").answered())
	for _, request := range o.Requests()[1:] {
		between := requireAside(t, o.Requests()[0], request, "why?")
		require.Len(t, between, 1)
		require.Equal(t, "done", sessions.TextOf(between[0].Content))
	}
}

// What is queued behind a turn says nothing about it.
func TestASideQuestionAboutATurnThatWaitsAfterARestart(t *testing.T) {
	o := curious(text("because"), calls("/ui/ask"))
	w := actortest.Open(t, profiles(o, guarded), actortest.Config{})
	at := actortest.Key("a")
	warm := func(degrees float64) actortest.Option {
		return func(p *actors.Prompt) { p.Inference.Params.Temperature = &degrees }
	}
	waitingWork(w, at, warm(0.25))
	w.Send(at, "next", with(sessions.BusyQueue), warm(0.75)).Accepted()
	asked := o.Requests()[0]
	o = curious(text("because"))
	w = cutAndReopen(t, w, profiles(o, guarded), nil)
	require.Equal(t, "because", asking(w, at, "why?").answered())
	between := requireAside(t, asked, o.Requests()[0], "why?")
	require.Len(t, between, 2, "the call and its stub")
	require.Equal(t, sessions.StatusWaiting, w.Session(at).Status)
}

// marking is a tool that tells whether it was called.
func marking(called *bool) invoke {
	return func(context.Context, tools.Call) (json.RawMessage, error) {
		*called = true
		return json.RawMessage(`1`), nil
	}
}
