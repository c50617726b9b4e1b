package storetest

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testKeys(t *testing.T, f Factory) {
	f.run(t, "keys are listed oldest first, as they were stored", func(t *testing.T) {
		w := newWorld(t, f)
		require.Empty(t, w.keys())
		first, second := w.key("zoe", "secret-1"), w.key("ann", "secret-2")
		require.Equal(t, []sessions.StoredKey{first, second}, w.keys())
	})
	f.run(t, "an id and a secret are of one key", func(t *testing.T) {
		w := newWorld(t, f)
		k := w.key("ann", "secret-1")
		other := k
		other.ID = "other"
		require.ErrorIs(t, w.store.CreateKey(t.Context(), other), sessions.ErrKeyTaken)
		other = k
		other.Hash = w.store.KeyHash("other")
		require.ErrorIs(t, w.store.CreateKey(t.Context(), other), sessions.ErrKeyTaken)
		require.Equal(t, []sessions.StoredKey{k}, w.keys())
	})
	f.run(t, "a revocation holds, and is not changed by the next", func(t *testing.T) {
		w := newWorld(t, f)
		k, other := w.key("ann", "secret-1"), w.key("bob", "secret-2")
		k.RevokedAt = w.now + 5
		for _, later := range []sessions.Time{5, 9} {
			revoked, err := w.store.RevokeKey(t.Context(), k.ID, w.now+later)
			require.NoError(t, err)
			require.Equal(t, k.AccessKey, revoked)
		}
		require.Equal(t, []sessions.StoredKey{k, other}, w.keys())
		_, err := w.store.RevokeKey(t.Context(), "nobody's", w.now)
		require.ErrorIs(t, err, sessions.ErrNoKey)
	})
	f.run(t, "hashes are of one store", func(t *testing.T) {
		w := newWorld(t, f)
		hash, again := w.store.KeyHash("a"), w.store.KeyHash("a")
		require.Equal(t, hash, again)
		require.NotEqual(t, hash, w.store.KeyHash("b"))
		require.NotEqual(t, hash, newWorld(t, f).store.KeyHash("a"), "keyed with a secret of the store")
	})
	f.run(t, "a clear of the key's owner leaves the key", func(t *testing.T) {
		w := newWorld(t, f)
		k := w.key(owner, "secret-1")
		w.session()
		_, err := w.store.ClearOwner(t.Context(), sessions.ClearOwner{Owner: owner, TombstoneMs: 30 * day, Now: w.now}, nil)
		require.NoError(t, err)
		require.Equal(t, []sessions.StoredKey{k}, w.keys())
	})
	f.run(t, "the secret itself is nowhere", func(t *testing.T) {
		if f.Rows == nil {
			t.Skip("this store does not show its rows")
		}
		w := newWorld(t, f)
		w.key("ann", "a-secret-to-look-for")
		require.Empty(t, w.rowsWith("a-secret-to-look-for"))
		require.Empty(t, w.rowsWith(hex.EncodeToString([]byte("a-secret-to-look-for"))))
	})
	f.run(t, "keys and their hashes are the same after a reopen", func(t *testing.T) {
		if f.Reopen == nil {
			t.Skip("this store cannot be opened again")
		}
		w := newWorld(t, f)
		k := w.key("ann", "secret-1")
		w.reopen()
		require.Equal(t, []sessions.StoredKey{k}, w.keys())
		require.Equal(t, k.Hash, w.store.KeyHash("secret-1"))
	})
}

// key stores a key with a secret.
func (w *world) key(of sessions.Owner, secret string) sessions.StoredKey {
	w.t.Helper()
	k := sessions.StoredKey{AccessKey: sessions.AccessKey{ID: sessions.KeyID(w.name("key")), Owner: of, Role: sessions.KeyOfAdmin,
		Name: "of " + string(of), PerSecond: 5, Burst: 7, CreatedAt: w.now}, Hash: w.store.KeyHash(secret)}
	require.NoError(w.t, w.store.CreateKey(w.t.Context(), k))
	return k
}

func (w *world) keys() []sessions.StoredKey {
	w.t.Helper()
	keys, err := w.store.Keys(w.t.Context())
	require.NoError(w.t, err)
	return keys
}
