package actors_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// sideStore lets a test come before what a side question asks of its store.
type sideStore struct {
	sessions.Store

	mu         sync.Mutex
	onSession  func()
	onMessages func() error
	onUsage    func() error
}

func (s *sideStore) wrap(of sessions.Store) sessions.Store {
	s.Store = of
	return s
}

func (s *sideStore) set(change func(*sideStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *sideStore) Session(ctx context.Context, owner sessions.Owner, at sessions.Address) (sessions.Session, error) {
	s.mu.Lock()
	hook := s.onSession
	s.onSession = nil // the first one's only
	s.mu.Unlock()
	if hook != nil {
		hook()
	}
	return s.Store.Session(ctx, owner, at)
}

func (s *sideStore) Messages(ctx context.Context, life sessions.Incarnation, q sessions.MessageQuery) (sessions.MessagePage, error) {
	s.mu.Lock()
	hook := s.onMessages
	s.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return sessions.MessagePage{}, err
		}
	}
	return s.Store.Messages(ctx, life, q)
}

func (s *sideStore) AddUsage(ctx context.Context, c sessions.AddUsage) error {
	s.mu.Lock()
	hook := s.onUsage
	s.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return err
		}
	}
	return s.Store.AddUsage(ctx, c)
}

// A session that is made while its agent looks for one is deleted with its side
// question all the same.
func TestDeleteOfASessionThatASideQuestionHasFound(t *testing.T) {
	g := &sideStore{}
	o := curious(endless)
	w := actortest.New(t, profiles(o), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	g.set(func(g *sideStore) {
		g.onSession = func() {
			_, err := g.SeedSession(t.Context(), sessions.SeedSession{
				Owner: actortest.Owner, At: at, NewID: "late", Profile: sessions.DefaultProfile, Now: sessions.TimeOf(time.Now()),
				Messages: []sessions.Message{{Role: sessions.RoleUser, Content: sessions.Text("one")}},
			})
			require.NoError(t, err)
		}
	})
	a := asking(w, at, "why?")
	require.NoError(t, o.Await(t.Context(), 1))
	w.Delete(actortest.ID("late"))
	a.refused(sessions.CodeSessionDeleted)
	require.Equal(t, "fine", w.Say(at, "hello"))
	require.Len(t, w.History(at), 2)
}

// What comes between the answer and the bill.
func TestUsageOfASideQuestionThatIsNotStoredAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		code sessions.Code
		do   func(*actortest.World, sessions.Address)
	}{
		"the store comes back": {"", func(*actortest.World, sessions.Address) {}},
		"deleted":              {sessions.CodeSessionDeleted, func(w *actortest.World, at sessions.Address) { w.Delete(at) }},
		"another one": {sessions.CodeCancelled, func(w *actortest.World, at sessions.Address) {
			asking(w, at, "").refused(sessions.CodeInvalidRequest) // is none
			asking(w, at, "why?")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, tried := &sideStore{}, make(chan struct{}, 100)
			w := actortest.New(t, profiles(curious(costing(text("because")))), actortest.Config{Wrap: g.wrap})
			at := actortest.Key("a")
			w.Say(at, "hello")
			g.set(func(g *sideStore) {
				g.onUsage = func() error {
					tried <- struct{}{}
					return away
				}
			})
			a := asking(w, at, "why?")
			<-tried
			<-tried
			c.do(w, at)
			g.set(func(g *sideStore) { g.onUsage = nil })
			if c.code != "" {
				a.refused(c.code)
				return
			}
			require.Equal(t, "because", a.answered())
			require.EqualValues(t, 100, used(t, w, sessions.UsageQuery{By: sessions.UsageByOwner}).SideQuestions.Tokens())
		})
	}
}

func TestASideQuestionWithoutAStoreOrWithADamagedOne(t *testing.T) {
	g := &sideStore{}
	w := actortest.New(t, profiles(curious(text("because")), shortTTL), actortest.Config{Wrap: g.wrap})
	at := actortest.Key("a")
	w.Say(at, "hello")
	for _, err := range []*sessions.Error{away, sessions.Errorf(sessions.CodeSessionDamaged, "The session is damaged for a test.")} {
		w.AwaitIdle()
		g.set(func(g *sideStore) { g.onMessages = func() error { return err } })
		asking(w, at, "why?").refused(err.Code)
		g.set(func(g *sideStore) { g.onMessages = nil })
		require.Equal(t, "because", asking(w, at, "why?").answered())
	}
}

func TestPanicOfAnAgentWithASideQuestion(t *testing.T) {
	c := &tripwire{}
	o := curious(endless)
	w := actortest.New(t, profiles(o), actortest.Config{Config: actors.Config{Now: c.now}})
	at := actortest.Key("a")
	w.Say(at, "hello")
	a := asking(w, at, "why?")
	require.NoError(t, o.Await(t.Context(), 2))
	c.armed.Store(true)
	w.Send(at, "second").Failed(sessions.CodeInternal)
	a.refused(sessions.CodeInternal)
	require.Equal(t, "fine", w.Say(at, "go on"))
	requireGone(t, w, at)
}

// Side questions, prompts, and all that ends them come at once; everyone is
// answered with what may have happened, and nothing is left.
func TestSideQuestionsAmongAllElse(t *testing.T) {
	const rounds = 25
	w := world(t, curious(costing(text("because")), calls("/t/one"), scripted.Step{Text: "done"}), mounts{"/t/one": output(`1`)}, shortTTL)
	may := map[sessions.Code]bool{
		"": true, sessions.CodeCancelled: true, sessions.CodeSessionDeleted: true, sessions.CodeSessionClosed: true,
		sessions.CodeSessionNotFound: true, sessions.CodeConflict: true, // no conversation yet
	}
	var all sync.WaitGroup
	codes := make(chan sessions.Code, 10*rounds)
	each := func(do func(i int, at sessions.Address)) {
		all.Go(func() {
			for i := range rounds {
				do(i, actortest.Key(strconv.Itoa(i%2)))
			}
		})
	}
	for range 3 {
		each(func(_ int, at sessions.Address) {
			answer := <-asking(w, at, "why?").reply
			code := sessions.Code("")
			if answer.Err != nil {
				code = answer.Err.Code
			} else if answer.Text != "because" {
				code = "another text"
			}
			codes <- code
		})
	}
	each(func(_ int, at sessions.Address) { w.Send(at, "work").Reply() })
	each(func(i int, at sessions.Address) {
		var err error
		switch i % 4 {
		case 0:
			_, err = w.System.Delete(t.Context(), actors.Delete{Owner: actortest.Owner, At: at})
		case 1:
			_, err = w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at, SideQuestion: true})
		case 2:
			_, err = w.System.Cancel(t.Context(), actors.Cancel{Owner: actortest.Owner, At: at})
		default:
			_, err = w.System.Close(t.Context(), actors.Close{Owner: actortest.Owner, At: at})
		}
		codes <- sessions.CodeOf(err)
	})
	all.Wait()
	close(codes)
	for code := range codes {
		require.True(t, may[code], "%s", code)
	}
	w.AwaitIdle()
	for _, target := range []string{"0", "1"} {
		at := actortest.Key(target)
		w.Delete(at)
		require.Equal(t, "done", w.Say(at, "work"))
		require.Equal(t, "because", asking(w, at, "why?").answered())
		require.Len(t, w.History(at), 4)
	}
	require.Equal(t, 2, w.Turns(actortest.Key("0"))[0].Iterations)
}
