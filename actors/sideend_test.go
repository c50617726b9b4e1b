package actors_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// endless is what a model says that does not come to an end.
var endless = scripted.Step{Text: "let me think", Usage: &sessions.Usage{InputTokens: 7}, Hang: true}

// puzzled returns a World with a session that has a conversation, and a side
// question about it under way.
func puzzled(t *testing.T, steps ...scripted.Step) (*actortest.World, sessions.Address, *scripted.StrictOracle, *aside) {
	t.Helper()
	o := curious(endless, steps...)
	w := world(t, o, nil)
	at := actortest.Key("a")
	require.Equal(t, "fine", w.Say(at, "hello"))
	a := asking(w, at, "why?")
	require.NoError(t, o.Await(t.Context(), 2))
	return w, at, o, a
}

// requireGone requires that no side question is left.
func requireGone(t *testing.T, w *actortest.World, at sessions.Address) {
	t.Helper()
	did, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at, SideQuestion: true})
	require.NoError(t, err)
	require.False(t, did)
}

func TestWhatEndsASideQuestion(t *testing.T) {
	owner := actortest.Owner
	for name, c := range map[string]struct {
		code sessions.Code
		end  func(*actortest.World, sessions.Address) error
	}{
		"cancel": {sessions.CodeCancelled, func(w *actortest.World, at sessions.Address) error {
			did, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: owner, At: at, SideQuestion: true})
			require.True(t, did)
			return err
		}},
		"delete": {sessions.CodeSessionDeleted, func(w *actortest.World, at sessions.Address) error {
			_, err := w.System.Delete(t.Context(), actors.Delete{Owner: owner, At: at, RejectIfBusy: true})
			return err
		}},
		"clear": {sessions.CodeSessionDeleted, func(w *actortest.World, _ sessions.Address) error {
			_, err := w.System.ClearAll(t.Context(), actors.ClearAll{Owner: owner})
			return err
		}},
		"close": {sessions.CodeSessionClosed, func(w *actortest.World, at sessions.Address) error {
			_, err := w.System.Close(t.Context(), actors.Close{Owner: owner, At: at})
			return err
		}},
		"stop": {sessions.CodeHostStopping, func(w *actortest.World, _ sessions.Address) error {
			w.System.Stop(time.Hour)
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, at, _, a := puzzled(t)
			require.NoError(t, c.end(w, at))
			a.refused(c.code)
		})
	}
}

func TestASideQuestionEndsTheOneBefore(t *testing.T) {
	w, at, o, first := puzzled(t)
	second := asking(w, at, "and why that?")
	first.refused(sessions.CodeCancelled)
	require.NoError(t, o.Await(t.Context(), 3))
	did, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at, SideQuestion: true})
	require.NoError(t, err)
	require.True(t, did)
	second.refused(sessions.CodeCancelled)
	requireGone(t, w, at)
	w.Eventually(func() bool {
		report := used(t, w, sessions.UsageQuery{By: sessions.UsageByOwner})
		return report.SideQuestions.Calls == 2
	}, "that what was ended is on the bill")
	require.Equal(t, sessions.Usage{Calls: 1}, used(t, w, sessions.UsageQuery{By: sessions.UsageByOwner}).Usage)
}

// A side question and a turn do not end each other.
func TestASideQuestionAndATurnAreApart(t *testing.T) {
	w, at, o, a := puzzled(t, endless)
	call := w.Send(at, "work")
	require.NoError(t, o.Await(t.Context(), 3))
	did, err := w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at, SideQuestion: true})
	require.NoError(t, err)
	require.True(t, did)
	a.refused(sessions.CodeCancelled)
	require.Equal(t, sessions.StatusRunning, w.Session(at).Status)
	again := asking(w, at, "why?")
	require.NoError(t, o.Await(t.Context(), 4))
	require.True(t, w.Cancel(at))
	call.Failed(sessions.CodeCancelled)
	require.Equal(t, "fine", w.Say(at, "go on"))
	_, err = w.System.Detach(t.Context(), actors.Detach{Owner: actortest.Owner, At: at})
	require.NoError(t, err)
	w.Delete(at)
	again.refused(sessions.CodeSessionDeleted)
}

func TestASideQuestionEndsWithItsCaller(t *testing.T) {
	begun, ended := make(chan struct{}, 1), make(chan error, 1)
	w := world(t, oracleFunc(func(ctx context.Context, r oracle.Request, yield func(oracle.Part, error) bool) {
		if len(r.Messages) == 1 {
			yield(oracle.TextDelta{Text: "fine"}, nil)
			return
		}
		begun <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		yield(nil, ctx.Err())
	}), nil)
	at := actortest.Key("a")
	w.Say(at, "hello")
	ctx, leave := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := w.System.SideQuestion(ctx, actors.SideQuestion{Owner: actortest.Owner, At: at, Question: "why?"})
		asked <- err
	}()
	<-begun
	leave()
	require.ErrorIs(t, <-asked, context.Canceled)
	require.Equal(t, sessions.CodeCancelled, sessions.CodeOf(<-ended))
}

func TestASideQuestionHasTheTimeOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(curious(endless), func(p *actors.Profile) {
			p.PromptTimeout, p.IdleTTL = time.Minute, time.Second
		}), actortest.Config{})
		at := actortest.Key("a")
		w.Say(at, "hello")
		a := asking(w, at, "why?")
		time.Sleep(time.Minute - time.Millisecond)
		synctest.Wait()
		require.True(t, w.Resident(at), "an agent stays for a side question")
		require.Empty(t, a.reply)
		time.Sleep(time.Millisecond)
		err := a.refused(sessions.CodeAgentTimeout)
		require.Equal(t, "promptTimeoutMs", err.Details["limit"])
		time.Sleep(time.Second)
		synctest.Wait()
		require.False(t, w.Resident(at))
	})
}

func TestRefusedSideQuestions(t *testing.T) {
	o := curious(text("because"))
	w := actortest.New(t, profiles(o), actortest.Config{Config: actors.Config{Limits: sessions.Limits{MessageBytes: 20, TurnTextBytes: 100}}})
	at := actortest.Key("a")
	asking(w, at, "why?").refused(sessions.CodeSessionNotFound)
	asking(w, actortest.ID("nobody"), "why?").refused(sessions.CodeSessionNotFound)
	asking(w, actortest.Key("a", "unknown"), "why?").refused(sessions.CodeUnknownProfile)
	_, err := w.Store.CreateSession(t.Context(), sessions.CreateSession{
		Owner: actortest.Owner, At: at, NewID: "empty", Profile: sessions.DefaultProfile, Now: 1,
	})
	require.NoError(t, err)
	asking(w, at, "why?").refused(sessions.CodeConflict)
	w.Say(at, "hello")
	for _, question := range []string{"", " ", "\n\t "} {
		require.Equal(t, "/args/question", asking(w, at, question).refused(sessions.CodeInvalidRequest).Details["field"])
	}
	require.Equal(t, "messageBytes", asking(w, at, "why? "+strings.Repeat("x", 16)).refused(sessions.CodePayloadTooLarge).Details["limit"])
	require.Equal(t, "because", asking(w, at, "why?").answered())
	_, err = w.System.Close(t.Context(), actors.Close{Owner: actortest.Owner, At: at})
	require.NoError(t, err)
	asking(w, at, "why?").refused(sessions.CodeSessionClosed)
	w.Delete(at)
	asking(w, at, "why?").refused(sessions.CodeSessionNotFound)
	require.Len(t, o.Requests(), 2)
	w.System.Stop(0)
	_, err = w.System.SideQuestion(t.Context(), actors.SideQuestion{Owner: actortest.Owner, At: at, Question: "why?"})
	require.Equal(t, sessions.CodeHostStopping, sessions.CodeOf(err))
}

func TestSideQuestionsThatTheModelDoesNotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		step scripted.Step
		code sessions.Code
	}{
		"fails":         {scripted.Step{Text: "half", Fail: "a secret"}, sessions.CodeLLMAPIFailure},
		"says nothing":  {scripted.Step{}, sessions.CodeLLMAPIFailure},
		"says blanks":   {scripted.Step{Text: " \n"}, sessions.CodeLLMAPIFailure},
		"calls a tool":  {calls("/t/one"), sessions.CodeLLMAPIFailure},
		"says too much": {scripted.Step{Text: strings.Repeat("x", 101)}, sessions.CodePayloadTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			called := false
			tree := treeOf(t, mounts{"/t/one": marking(&called)})
			w := actortest.New(t, profiles(curious(costing(c.step))), actortest.Config{
				Config: actors.Config{Tools: tree, Limits: sessions.Limits{TurnTextBytes: 100}}})
			at := actortest.Key("a")
			w.Say(at, "hello")
			before := storedOf(w, at)
			err := asking(w, at, "why?").refused(c.code)
			require.NotContains(t, err.Message, "secret")
			require.Equal(t, before, storedOf(w, at))
			require.False(t, called)
			require.EqualValues(t, 1, used(t, w, sessions.UsageQuery{By: sessions.UsageByOwner}).SideQuestions.Calls)
		})
	}
}

func TestASideQuestionIgnoresCallsBesideText(t *testing.T) {
	called := false
	step := calls("/t/one")
	step.Text = "because"
	w := world(t, curious(step), mounts{"/t/one": marking(&called)})
	at := actortest.Key("a")
	w.Say(at, "hello")
	require.Equal(t, "because", asking(w, at, "why?").answered())
	require.False(t, called)
	require.Len(t, w.History(at), 2)
}

func TestFaultsOfAModelThatIsAskedAside(t *testing.T) {
	for name, fault := range map[string]func(){"panic": func() { panic("a fault of a test") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			w := world(t, oracleFunc(func(_ context.Context, r oracle.Request, yield func(oracle.Part, error) bool) {
				if yield(oracle.TextDelta{Text: "fine"}, nil) && len(r.Messages) == 3 {
					fault()
				}
			}), nil)
			at := actortest.Key("a")
			w.Say(at, "hello")
			asking(w, at, "why?").refused(sessions.CodeInternal)
			requireGone(t, w, at)
		})
	}
}

func TestAnOwnersBudgetRefusesSideQuestions(t *testing.T) {
	o := curious(costing(text("because")))
	w := actortest.New(t, profiles(o, budget(actors.Budget{SessionTokens: 1})), actortest.Config{Config: actors.Config{OwnerDayTokens: 150}})
	at := actortest.Key("a")
	w.Say(at, "hello")
	require.Equal(t, "because", asking(w, at, "why?").answered(), "budgets of sessions are for turns")
	require.Equal(t, "because", asking(w, at, "why?").answered())
	err := asking(w, at, "why?").refused(sessions.CodePayloadTooLarge)
	require.Equal(t, "ownerDayTokens", err.Details["limit"])
	require.EqualValues(t, 200, err.Details["used"])
	require.Len(t, o.Requests(), 3)
}
