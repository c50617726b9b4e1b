package actors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// outcome is a prompt of a race and what came of it.
type outcome struct {
	text  string
	reply actors.PromptReply
}

// codes are what a prompt of a race may be told.
var racing = []sessions.Code{sessions.CodeAgentBusy, sessions.CodeCancelled, sessions.CodeSessionClosed, sessions.CodeSessionDeleted}

// client sends prompts of all policies, some a second time or withdrawn at once.
func client(w *actortest.World, at sessions.Address, name string, prompts int) []outcome {
	var got []outcome
	for i := range prompts {
		text := fmt.Sprint(name, " ", i)
		id := sessions.RequestID("r " + text)
		policy := sessions.BusyPolicies()[rand.IntN(4)]
		call := w.Send(at, text, with(policy), actortest.As(id))
		switch rand.IntN(6) {
		case 0:
			_, _ = w.System.Cancel(context.Background(), actors.Cancel{Owner: actortest.Owner, At: at, RequestID: id})
		case 1:
			_, _ = w.System.Cancel(context.Background(), actors.Cancel{Owner: actortest.Owner, At: at})
		case 2:
			again := w.Send(at, text, with(policy), actortest.As(id)).Reply()
			got = append(got, outcome{text, again})
		}
		got = append(got, outcome{text, call.Reply()})
	}
	return got
}

// Clients of all policies at once: every prompt has its one answer, the answers
// agree with what is stored, and the model never sees an invalid history.
func TestPoliciesRace(t *testing.T) {
	w := actortest.New(t, profiles(scripted.Strict(steps(3)), shortTTL), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/one": output(`1`)}),
	}})
	for round := range 6 {
		at := actortest.Key(fmt.Sprint("round ", round))
		results := make([][]outcome, 8)
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() { results[i] = client(w, at, fmt.Sprint("c", i, " ", round), 12) })
		}
		all.Wait()
		requireAgreement(t, w, at, slices.Concat(results...))
	}
	w.AwaitIdle()
}

// requireAgreement requires that a session holds what its prompts were told.
func requireAgreement(t *testing.T, w *actortest.World, at sessions.Address, told []outcome) {
	t.Helper()
	said := map[string]sessions.TurnID{}
	for _, m := range w.History(at) {
		if m.Role == sessions.RoleUser {
			require.NotContains(t, said, sessions.TextOf(m.Content), "twice in the history")
			said[sessions.TextOf(m.Content)] = m.TurnID
		}
	}
	ends := map[sessions.TurnID]sessions.Turn{}
	for _, turn := range w.Turns(at) {
		require.True(t, turn.Status.Terminal(), "turn of %s", turn.RequestID)
		ends[turn.TurnID] = turn
	}
	for _, o := range told {
		if o.reply.Err != nil {
			require.Contains(t, racing, o.reply.Err.Code, "%s: %v", o.text, o.reply.Err)
		}
		if id := o.reply.Turn.TurnID; id != "" {
			require.Equal(t, ends[id].Status, o.reply.Turn.Status, "%s", o.text)
		}
		if o.reply.Err == nil {
			require.Equal(t, said[o.text], o.reply.Turn.TurnID, "%s: the answer is of the turn that has read it", o.text)
		}
	}
	last := map[sessions.TurnID]int{}
	for _, f := range w.Frames(at) {
		if f.Type().Terminal() {
			last[f.TurnID]++
		}
	}
	for id := range ends {
		require.Equal(t, 1, last[id], "terminal frames of a turn")
	}
}

// The same with the end of the session in the midst of it.
func TestPoliciesRaceTheEndOfTheirSession(t *testing.T) {
	w := actortest.New(t, profiles(scripted.Strict(steps(3))), actortest.Config{Config: actors.Config{
		Tools: treeOf(t, mounts{"/t/one": output(`1`)}),
	}})
	ends := []func(at sessions.Address){
		func(at sessions.Address) { w.Delete(at) },
		func(at sessions.Address) {
			_, err := w.System.Detach(t.Context(), actors.Detach{Owner: actortest.Owner, At: at})
			require.NoError(t, err)
		},
		func(at sessions.Address) {
			_, err := w.System.Close(t.Context(), actors.Close{Owner: actortest.Owner, At: at})
			require.NoError(t, err)
		},
	}
	for round := range 12 {
		at := actortest.Key(fmt.Sprint("round ", round))
		w.Say(at, "hello")
		var all sync.WaitGroup
		results := make([][]outcome, 6)
		for i := range results {
			all.Go(func() { results[i] = client(w, at, fmt.Sprint("c", i, " ", round), 6) })
		}
		ends[round%len(ends)](at)
		all.Wait()
		for _, o := range slices.Concat(results...) {
			if o.reply.Err != nil {
				require.Contains(t, racing, o.reply.Err.Code, "%s: %v", o.text, o.reply.Err)
			}
		}
	}
	w.Eventually(func() bool {
		_, busy := w.System.Counts()
		return busy == 0
	}, "that no turn is busy")
}

// kill leaves a World as it is and opens what the disk would have of it.
func kill(t *testing.T, w *actortest.World, p actortest.Profiles) *actortest.World {
	t.Helper()
	path := filepath.Join(t.TempDir(), "killed.db")
	for _, ending := range []string{"", "-wal"} { // by another process: closing the file in this one would drop SQLite's locks on it
		require.NoError(t, exec.CommandContext(t.Context(), "cp", w.Path+ending, path+ending).Run())
	}
	again := actortest.Open(t, p, actortest.Config{Path: path})
	t.Cleanup(again.Close)
	require.NoError(t, again.System.Recover(t.Context()))
	return again
}

// A host that is killed: what waited runs once at the next start, in its order.
func TestKilledWithPromptsThatWait(t *testing.T) {
	o := script(scripted.Step{Hang: true})
	w := world(t, o, nil)
	at := actortest.Key("a")
	first := w.Send(at, "work", actortest.As("r"))
	require.NoError(t, o.Await(t.Context(), 1)) // what steers would be read before the first model call
	var waiting []*actortest.Call
	for i, policy := range []sessions.BusyPolicy{sessions.BusyQueue, sessions.BusySteer, sessions.BusyQueue} {
		call := w.Send(at, "text "+strconv.Itoa(i), with(policy), actortest.As(sessions.RequestID("q"+strconv.Itoa(i))))
		call.Accepted()
		waiting = append(waiting, call)
	}
	again := kill(t, w, profiles(script(text("done"))))
	for i := range waiting {
		r := again.Send(at, "text "+strconv.Itoa(i), actortest.As(sessions.RequestID("q"+strconv.Itoa(i)))).Reply()
		require.Nil(t, r.Err)
		require.True(t, r.Duplicate)
	}
	require.Equal(t, []string{"work", "text 1", "text 0", "text 2"}, users(again.History(at)))
	requireNoBusy(t, again)
	w.Delete(at)
	for _, call := range append(waiting, first) {
		call.Failed(sessions.CodeSessionDeleted)
	}
}
