package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// claiming returns a claim on a request id for a session.
func (w *world) claiming(id sessions.RequestID, at sessions.Address, what string) sessions.ClaimRequest {
	return sessions.ClaimRequest{Owner: owner, At: at, Now: w.now,
		Request: sessions.Request{ID: id, Fingerprint: fingerprint(what), TTLMs: ttl}}
}

func testClaimRequest(t *testing.T, f Factory) {
	f.run(t, "it keeps the turn that it found", func(t *testing.T) { claimKeepsTurn(t, f) })
	f.run(t, "it is refused as a prompt's is", func(t *testing.T) { claimRefusals(t, f) })
}

func claimKeepsTurn(t *testing.T, f Factory) {
	w := newWorld(t, f)
	s := w.session()
	got, err := w.store.ClaimRequest(t.Context(), w.claiming("idle", addressOf(s), "cancel"))
	require.NoError(t, err)
	require.Equal(t, sessions.ClaimedRequest{Session: s}, got)

	first := w.accept(w.prompt(addressOf(s), "question"))
	queued := w.prompt(addressOf(s), "later")
	queued.Busy, queued.QueueLimit, queued.Fence = sessions.BusyQueue, 4, first.Session.Fence
	next := w.accept(queued)
	got, err = w.store.ClaimRequest(t.Context(), w.claiming("busy", addressOf(s), "cancel"))
	require.NoError(t, err)
	require.Equal(t, first.Turn.TurnID, got.TurnID)
	w.commit(w.answer(first, "reply"))

	got, err = w.store.ClaimRequest(t.Context(), w.claiming("queued", addressOf(s), "cancel"))
	require.NoError(t, err)
	require.Equal(t, next.Turn.TurnID, got.TurnID, "nothing is active, and one turn is queued")
	for id, turn := range map[sessions.RequestID]sessions.TurnID{"idle": "", "busy": first.Turn.TurnID, "queued": next.Turn.TurnID} {
		got, err = w.store.ClaimRequest(t.Context(), w.claiming(id, addressOf(s), "cancel"))
		require.NoError(t, err)
		require.True(t, got.Duplicate)
		require.Equal(t, turn, got.TurnID)
	}
}

func claimRefusals(t *testing.T, f Factory) {
	w := newWorld(t, f)
	_, err := w.store.ClaimRequest(t.Context(), w.claiming("r", byID("nobody"), "cancel"))
	require.ErrorIs(t, err, sessions.ErrNoSession)
	s := w.session()
	_, err = w.store.ClaimRequest(t.Context(), w.claiming("r", addressOf(s), "cancel"))
	require.NoError(t, err, "a refused claim consumes nothing")
	_, err = w.store.ClaimRequest(t.Context(), w.claiming("r", addressOf(s), "another"))
	require.ErrorIs(t, err, sessions.ErrOtherRequest)
	w.remove(addressOf(s))
	_, err = w.store.ClaimRequest(t.Context(), w.claiming("r", addressOf(s), "cancel"))
	require.ErrorIs(t, err, sessions.ErrRequestDeleted)
	w.now += 31 * day
	_, err = w.store.ClaimRequest(t.Context(), w.claiming("r", addressOf(s), "cancel"))
	require.ErrorIs(t, err, sessions.ErrNoSession, "the tombstone has expired")
}
