package actors_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// crowded starts a World that takes few busy turns, and fills it.
func crowded(t *testing.T, turns int, gate <-chan struct{}, wrap func(sessions.Store) sessions.Store) (*actortest.World, []*actortest.Call) {
	t.Helper()
	w := actortest.New(t, profiles(script(scripted.Step{Gate: gate, Text: "done"})), actortest.Config{
		Config: actors.Config{Limits: sessions.Limits{BusyTurns: turns}}, Wrap: wrap,
	})
	full := make([]*actortest.Call, turns)
	for i := range full {
		full[i] = w.Send(actortest.Key(strconv.Itoa(i)), "work", actortest.As(sessions.RequestID(strconv.Itoa(i))))
		full[i].Accepted()
	}
	return w, full
}

// A refused prompt has not been used up; what would be answered otherwise
// anyway still is.
func TestAdmission(t *testing.T) {
	gate := make(chan struct{})
	w, full := crowded(t, 3, gate, nil)
	at := actortest.Key("one more")
	r := w.Send(at, "hello", actortest.As("r")).Failed(sessions.CodeOverloaded)
	require.True(t, r.Err.Code.Info().Retryable)
	_, err := w.Store.Session(t.Context(), actortest.Owner, at)
	require.Equal(t, sessions.CodeSessionNotFound, sessions.CodeOf(err))
	again := w.Send(actortest.Key("0"), "work", actortest.As("0"))
	require.True(t, again.Accepted().Duplicate)
	w.Send(actortest.Key("0"), "other", actortest.As("0")).Failed(sessions.CodeRequestConflict)
	w.Send(actortest.Key("0"), "hello").Failed(sessions.CodeAgentBusy)
	w.Send(actortest.ID("nobody"), "hello").Failed(sessions.CodeSessionNotFound)
	w.Send(actortest.Key("0", "nobody"), "hello").Failed(sessions.CodeUnknownProfile)

	require.True(t, w.Cancel(actortest.Key("1")))
	full[1].Failed(sessions.CodeCancelled)
	fresh := w.Send(at, "hello", actortest.As("r")).Reply()
	require.Nil(t, fresh.Err)
	require.False(t, fresh.Duplicate)
	close(gate)
	for _, c := range []*actortest.Call{full[0], full[2], again} {
		require.Equal(t, "done", c.Completed())
	}
	_, busy := w.System.Counts()
	require.Zero(t, busy)
}

// The edge refuses before any other check what is four times over the limit.
func TestAdmissionAtTheEdge(t *testing.T) {
	gate := make(chan struct{})
	g := &gatedStore{}
	w, full := crowded(t, 2, gate, g.wrap)
	stuck := make(chan struct{})
	g.set(func(g *gatedStore) { g.onAccept = func(sessions.AcceptTurn) error { <-stuck; return nil } })
	var waiting []*actortest.Call
	for range 4*2 - 2 {
		waiting = append(waiting, w.Send(actortest.Key("x"), "hello"))
	}
	r := w.Send(actortest.Key("0"), "work", actortest.As("0")).Failed(sessions.CodeOverloaded)
	require.Equal(t, "busyTurns", r.Err.Details["limit"])
	close(stuck)
	for _, c := range waiting {
		c.Failed(sessions.CodeOverloaded)
	}
	again := w.Send(actortest.Key("0"), "work", actortest.As("0"))
	require.True(t, again.Accepted().Duplicate)
	close(gate)
	for _, c := range append(full, again) {
		require.Equal(t, "done", c.Completed())
	}
	for range 50 { // nothing of the edge is used up
		require.Equal(t, "fine", w.Say(actortest.Key("y"), "hello"))
	}
}
