package actors_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// kinStore lets a test hold up or refuse what sub-agents ask of the store.
type kinStore struct {
	gatedStore
	onRefs   func() error
	onCreate func(sessions.CreateSession) error
}

func (k *kinStore) wrap(s sessions.Store) sessions.Store {
	k.Store = s
	return k
}

func (k *kinStore) Refs(ctx context.Context, parent sessions.Incarnation) ([]sessions.Ref, error) {
	if k.onRefs != nil {
		if err := k.onRefs(); err != nil {
			return nil, err
		}
	}
	return k.Store.Refs(ctx, parent)
}

func (k *kinStore) CreateSession(ctx context.Context, c sessions.CreateSession) (sessions.CreatedSession, error) {
	if k.onCreate != nil {
		if err := k.onCreate(c); err != nil {
			return sessions.CreatedSession{}, err
		}
	}
	return k.Store.CreateSession(ctx, c)
}

func TestNothingIsStartedWhenRefsCannotBeReadOrWritten(t *testing.T) {
	for name, k := range map[string]*kinStore{
		"read":  {onRefs: func() error { return away }},
		"write": {onCreate: func(sessions.CreateSession) error { return away }},
	} {
		t.Run(name, func(t *testing.T) {
			o := family(acts("work", asks(`{"prompt":"part"}`), text("pity")))
			w := actortest.New(t, profiles(o, delegating), actortest.Config{Wrap: k.wrap})
			at := actortest.Key("a")
			require.Equal(t, "pity", w.Say(at, "work"))
			failed := lastResults(w.History(at))[0].Error
			require.Equal(t, sessions.CodeStoreUnavailable, failed.Code)
			page, err := w.Store.Sessions(t.Context(), sessions.SessionQuery{Owner: actortest.Owner, Limit: 10})
			require.NoError(t, err)
			require.Len(t, page.Sessions, 1)
			require.Empty(t, childFrames(w, at))
			require.Len(t, o.Requests(), 2)
		})
	}
}

// A child that was asked for by one life of its parent is none of the next.
func TestAReusedIDGetsNoChildOfTheLifeBefore(t *testing.T) {
	k := &kinStore{}
	creating, goOn := make(chan struct{}), make(chan struct{})
	k.onCreate = func(c sessions.CreateSession) error {
		if c.ParentID != "" {
			close(creating)
			<-goOn
		}
		return nil
	}
	o := family(acts("work", asks(`{"prompt":"part"}`), text("done")))
	w := actortest.New(t, profiles(o, delegating), actortest.Config{Wrap: k.wrap})
	create := sessions.CreateSession{Owner: actortest.Owner, At: actortest.ID("x"), Profile: sessions.DefaultProfile}
	_, err := w.Store.CreateSession(t.Context(), create)
	require.NoError(t, err)
	call := w.Send(actortest.ID("x"), "work")
	<-creating
	deleted := w.Delete(actortest.ID("x"))
	require.NotNil(t, deleted.Receipt)
	_, err = w.Store.CreateSession(t.Context(), create)
	require.NoError(t, err)
	close(goOn)
	call.Failed(sessions.CodeSessionDeleted)
	w.System.Stop(0)
	require.Empty(t, refsOf(t, w, actortest.ID("x")))
	page, err := w.Store.Sessions(t.Context(), sessions.SessionQuery{Owner: actortest.Owner, Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
}

func TestAChildDeletedWhileItsParentWaits(t *testing.T) {
	o := family(acts("work", asks(`{"prompt":"slow"}`), text("pity")), acts("slow", scripted.Step{Hang: true}))
	w := world(t, o, nil, delegating)
	at := actortest.Key("a")
	call := w.Send(at, "work")
	require.NoError(t, o.Await(t.Context(), 2))
	child := refsOf(t, w, at)[0].SessionID
	require.EqualValues(t, 1, w.Delete(actortest.ID(child)).Receipt.Sessions)
	require.Equal(t, "pity", call.Completed())
	failed := lastResults(w.History(at))[0].Error
	require.Equal(t, sessions.CodeToolInvokeFailed, failed.Code)
	require.EqualValues(t, sessions.CodeSessionDeleted, failed.Details["childCode"])
	require.Empty(t, refsOf(t, w, at))
}

func TestAReusedKeyGetsFreshChildren(t *testing.T) {
	o := family(acts("work", asks(`{"prompt":"part","name":"helper"}`), text("done")))
	w := world(t, o, nil, delegating)
	at := actortest.Key("a")
	w.Say(at, "work")
	before := oneChild(t, w, at)
	require.EqualValues(t, 2, w.Delete(at).Receipt.Sessions)
	w.Say(at, "work")
	require.NotEqual(t, before.SessionID, oneChild(t, w, at).SessionID)
	_, err := w.Store.Session(t.Context(), actortest.Owner, actortest.ID(before.SessionID))
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
}

func TestSubAgentsAreNestedUpToTheLimit(t *testing.T) {
	const depth = 3
	o := family(acts("work", asks(`{"prompt":"work"}`), text("done")))
	w := actortest.New(t, profiles(o, delegating), actortest.Config{Config: actors.Config{Limits: sessions.Limits{SubagentDepth: depth}}})
	at := actortest.Key("a")
	require.Equal(t, "done", w.Say(at, "work"))
	for range depth {
		require.Nil(t, lastResults(w.History(at))[0].Error)
		at = actortest.ID(oneChild(t, w, at).SessionID)
	}
	failed := lastResults(w.History(at))[0].Error
	require.Equal(t, sessions.CodeToolInvokeFailed, failed.Code)
	require.Equal(t, "subagentDepth", failed.Details["limit"])
	require.Empty(t, refsOf(t, w, at))
}

// Parents that have taken all the room there is are told so, and hold up nobody.
func TestAChildForWhichThereIsNoRoomIsRefused(t *testing.T) {
	o := family(acts("work", asks(`{"prompt":"part"}`), text("pity")))
	w := actortest.New(t, profiles(o, delegating), actortest.Config{Config: actors.Config{Limits: sessions.Limits{BusyTurns: 1}}})
	at := actortest.Key("a")
	require.Equal(t, "pity", w.Say(at, "work"))
	require.EqualValues(t, sessions.CodeOverloaded, lastFault(t, w, at).Details["childCode"])
	require.Equal(t, "pity", w.Say(at, "work again"))
}

func TestUsageOfATreeIsThatOfItsModelCalls(t *testing.T) {
	used := sessions.Usage{InputTokens: 3, OutputTokens: 2}
	step := func(s scripted.Step) scripted.Step { s.Usage = &used; return s }
	o := family(acts("work", step(asks(`{"prompt":"part 1"}`, `{"prompt":"part 2"}`)), step(text("done"))), acts("part", step(text("it"))))
	w := world(t, o, nil, delegating)
	at := actortest.Key("a")
	w.Say(at, "work")
	total := w.Session(at).Usage
	for _, r := range refsOf(t, w, at) {
		total = total.Plus(w.Session(actortest.ID(r.SessionID)).Usage)
	}
	calls := int64(len(o.Requests()))
	require.EqualValues(t, 4, calls)
	require.Equal(t, sessions.Usage{InputTokens: 3 * calls, OutputTokens: 2 * calls, Calls: calls}, total)
}
