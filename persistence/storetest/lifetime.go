package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// testContext gives calls a context that has ended.
func testContext(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.store.CommitTurn(ended, w.answer(a, "reply"))
	require.ErrorIs(t, err, sessions.ErrOutcomeUnknown)
	_, err = w.store.Session(ended, owner, byKey("doc", "writer"))
	requireCode(t, sessions.CodeStoreUnavailable, err)
	// The same command again settles it, whichever way it went.
	if _, err := w.store.CommitTurn(t.Context(), w.answer(a, "reply")); err != nil {
		require.ErrorIs(t, err, sessions.ErrTurnEnded)
	}
	require.Len(t, w.history(a.Session.Fence.Incarnation), 2)
}

// testReopen closes the store in the middle of things and opens it again.
func testReopen(t *testing.T, f Factory) {
	if f.Reopen == nil {
		t.Skip("this store keeps nothing")
	}
	w := newWorld(t, f)
	c := w.prompt(byKey("doc", "writer"), "question")
	done, _ := w.turn(byKey("done", "writer"), "question", "reply")
	a := w.accept(c)
	gone := w.prompt(byKey("gone", "writer"), "question")
	w.accept(gone)
	w.remove(byKey("gone", "writer"))
	life := done.Session.Fence.Incarnation
	session, history, frames := w.get(byKey("done", "writer")), w.history(life), w.frames(life)

	require.True(t, w.store.ClosedCleanly(), "a new store was left by nobody")
	w.reopen()
	require.True(t, w.store.ClosedCleanly())
	require.Equal(t, session, w.get(byKey("done", "writer")))
	require.Equal(t, history, w.history(life))
	require.Equal(t, frames, w.frames(life))
	busy, err := w.store.BusyTurns(t.Context())
	require.NoError(t, err)
	require.Equal(t, []sessions.BusyTurn{{Turn: a.Turn, Session: a.Session}}, busy)
	require.Equal(t, a.Turn, w.repeat(c).Turn)
	_, err = w.store.AcceptTurn(t.Context(), w.again(gone))
	requireCode(t, sessions.CodeSessionDeleted, err)
	w.commit(w.answer(a, "reply"))
}

// testClose asks a closed store everything.
func testClose(t *testing.T, f Factory) {
	w := newWorld(t, f)
	a := w.accept(w.prompt(byKey("doc", "writer"), "question"))
	require.NotEmpty(t, w.store.Describe().Name)
	require.NotEmpty(t, w.store.Describe().Durability)
	require.NoError(t, w.store.CheckWritable(t.Context()))
	require.NoError(t, w.store.Close())
	require.NoError(t, w.store.Close(), "a second close does nothing")

	ctx, s, life := t.Context(), w.store, a.Session.Fence.Incarnation
	calls := map[string]func() error{
		"CreateSession": func() error {
			_, err := s.CreateSession(ctx, sessions.CreateSession{Owner: owner, NewID: "n", Now: w.now})
			return err
		},
		"UpdateSession": func() error {
			_, err := s.UpdateSession(ctx, sessions.UpdateSession{Owner: owner, At: byID("n")})
			return err
		},
		"SeedSession": func() error { _, err := s.SeedSession(ctx, w.seed(byID("n"))); return err },
		"ForkSession": func() error { _, err := s.ForkSession(ctx, w.fork(byID("n"), 0)); return err },
		"DeleteSession": func() error {
			_, err := s.DeleteSession(ctx, sessions.DeleteSession{Owner: owner, At: byID("n")}, nil)
			return err
		},
		"CloseSession": func() error { _, err := w.close(byID("n"), ""); return err },
		"ClearOwner":   func() error { _, err := s.ClearOwner(ctx, sessions.ClearOwner{Owner: owner}, nil); return err },
		"AcceptTurn":   func() error { _, err := s.AcceptTurn(ctx, w.prompt(byID("n"), "x")); return err },
		"CommitTurn":   func() error { _, err := s.CommitTurn(ctx, w.answer(a, "reply")); return err },
		"StartTurn": func() error {
			_, _, err := s.StartTurn(ctx, sessions.StartTurn{Fence: a.Session.Fence, Now: w.now})
			return err
		},
		"WithdrawTurn": func() error {
			_, _, err := s.WithdrawTurn(ctx, sessions.WithdrawTurn{Fence: a.Session.Fence, RequestID: "r", Now: w.now})
			return err
		},
		"Resolve":       func() error { _, err := s.Resolve(ctx, owner, byID("n")); return err },
		"Over":          func() error { _, err := s.Over(ctx, life); return err },
		"Session":       func() error { _, err := s.Session(ctx, owner, byID("n")); return err },
		"Sessions":      func() error { _, err := s.Sessions(ctx, sessions.SessionQuery{Owner: owner}); return err },
		"Messages":      func() error { _, err := s.Messages(ctx, life, sessions.MessageQuery{}); return err },
		"Frames":        func() error { _, err := s.Frames(ctx, life, sessions.FrameQuery{}); return err },
		"State":         func() error { _, err := s.State(ctx, life, ""); return err },
		"SetState":      func() error { _, err := w.set(byID("n"), "x", "1", nil); return err },
		"Turn":          func() error { _, err := s.Turn(ctx, life, "t"); return err },
		"Turns":         func() error { _, err := s.Turns(ctx, life, sessions.TurnQuery{}); return err },
		"TurnByRequest": func() error { _, err := s.TurnByRequest(ctx, life, "r"); return err },
		"Claim":         func() error { _, _, err := s.Claim(ctx, owner, "r", w.now); return err },
		"BusyTurns":     func() error { _, err := s.BusyTurns(ctx); return err },
		"Retirable":     func() error { _, err := s.Retirable(ctx, sessions.RetireQuery{}); return err },
		"AddRefs":       func() error { _, err := s.AddRefs(ctx, life, nil); return err },
		"SettleRef":     func() error { return s.SettleRef(ctx, sessions.SettleRef{Parent: life, Child: "n"}) },
		"RemoveRef":     func() error { return s.RemoveRef(ctx, life, "n") },
		"Refs":          func() error { _, err := s.Refs(ctx, life); return err },
		"Unheard":       func() error { _, err := s.Unheard(ctx, 1); return err },
		"Heard":         func() error { return s.Heard(ctx, nil) },
		"Compact":       func() error { _, err := s.Compact(ctx, false); return err },
		"CheckWritable": func() error { return s.CheckWritable(ctx) },
		"Sweep":         func() error { return s.Sweep(ctx, w.now) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) { requireCode(t, sessions.CodeStoreUnavailable, call()) })
	}
}
