package storetest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testRaces(t *testing.T, f Factory) {
	f.run(t, "case-03: equal requests at once make one session and one turn", func(t *testing.T) {
		w := newWorld(t, f)
		c := w.prompt(byKey("doc", "writer"), "question")
		retries := make([]sessions.AcceptTurn, 50)
		for i := range retries {
			retries[i] = w.again(c)
		}
		answers, errs := w.acceptAll(retries)
		var firsts int
		for i, a := range answers {
			require.NoError(t, errs[i])
			require.Equal(t, answers[0].Turn.TurnID, a.Turn.TurnID)
			require.Equal(t, answers[0].Session.ID, a.Session.ID)
			if !a.Duplicate {
				firsts++
			}
		}
		require.Equal(t, 1, firsts)
	})
	f.run(t, "first prompts of one key make one session", func(t *testing.T) {
		w := newWorld(t, f)
		prompts := make([]sessions.AcceptTurn, 50)
		for i := range prompts {
			prompts[i] = w.prompt(byKey("doc", "writer"), w.name("question"))
		}
		answers, errs := w.acceptAll(prompts)
		var accepted []sessions.AcceptedTurn
		for i, err := range errs {
			if err == nil {
				accepted = append(accepted, answers[i])
			} else {
				requireCode(t, sessions.CodeAgentBusy, err)
			}
		}
		require.Len(t, accepted, 1)
		page, err := w.store.Sessions(t.Context(), sessions.SessionQuery{Owner: owner})
		require.NoError(t, err)
		require.Equal(t, []sessions.Session{accepted[0].Session}, page.Sessions)
	})
	f.run(t, "of a racing prompt and delete exactly one wins", func(t *testing.T) { racePromptAndDelete(t, f) })
	f.run(t, "many sessions at once keep to themselves", func(t *testing.T) { raceSessions(t, f) })
}

// acceptAll sends prompts at once.
func (w *world) acceptAll(prompts []sessions.AcceptTurn) ([]sessions.AcceptedTurn, []error) {
	answers, errs := make([]sessions.AcceptedTurn, len(prompts)), make([]error, len(prompts))
	var group sync.WaitGroup
	for i, c := range prompts {
		group.Go(func() { answers[i], errs[i] = w.store.AcceptTurn(w.t.Context(), c) })
	}
	group.Wait()
	return answers, errs
}

func racePromptAndDelete(t *testing.T, f Factory) {
	w := newWorld(t, f)
	for range 20 {
		s := w.session()
		c := w.prompt(addressOf(s), "question")
		var promptErr, deleteErr error
		var receipt *sessions.Receipt
		var group sync.WaitGroup
		group.Go(func() { _, promptErr = w.store.AcceptTurn(t.Context(), c) })
		group.Go(func() {
			receipt, deleteErr = w.store.DeleteSession(t.Context(),
				sessions.DeleteSession{Owner: owner, At: addressOf(s), RejectIfBusy: true, TombstoneMs: day, Now: w.now}, nil)
		})
		group.Wait()
		if promptErr == nil {
			requireCode(t, sessions.CodeConflict, deleteErr)
			require.Equal(t, sessions.StatusRunning, w.get(addressOf(s)).Status)
			continue
		}
		require.NoError(t, deleteErr)
		require.NotNil(t, receipt)
		requireCode(t, sessions.CodeSessionNotFound, promptErr)
	}
}

func raceSessions(t *testing.T, f Factory) {
	w := newWorld(t, f)
	const writers, turns = 32, 5
	lives := make([]sessions.Incarnation, writers)
	var group sync.WaitGroup
	for i := range writers {
		s := w.session()
		lives[i] = s.Fence.Incarnation
		group.Go(func() {
			for range turns {
				a, err := w.store.AcceptTurn(t.Context(), w.prompt(addressOf(s), string(s.ID)))
				if err == nil {
					_, err = w.store.CommitTurn(t.Context(), w.answer(a, string(s.ID)))
				}
				if err != nil {
					t.Errorf("session %s: %v", s.ID, err)
				}
			}
		})
	}
	group.Wait()
	for _, life := range lives {
		history := w.history(life)
		require.Len(t, history, 2*turns)
		for i, m := range history {
			require.EqualValues(t, i+1, m.Seq)
			require.Equal(t, history[0].Content, m.Content)
		}
		for i, frame := range w.frames(life) {
			require.EqualValues(t, i+1, frame.Seq)
		}
	}
}
