package memory

import (
	"context"
	"slices"

	"agenthost/sessions"
)

// KeyHash hashes the secret of a key; see the port.
func (s *Store) KeyHash(secret string) sessions.KeyHash {
	return sessions.KeyHash(s.hashOf('k', "", secret))
}

// CreateKey stores a key; see the port.
func (s *Store) CreateKey(ctx context.Context, k sessions.StoredKey) error {
	_, err := write(ctx, s, func() (bool, error) {
		if slices.ContainsFunc(s.accessKeys, func(o sessions.StoredKey) bool { return o.ID == k.ID || o.Hash == k.Hash }) {
			return false, sessions.ErrKeyTaken
		}
		s.accessKeys = append(s.accessKeys, k)
		return true, nil
	})
	return err
}

// RevokeKey marks a key as revoked; see the port.
func (s *Store) RevokeKey(ctx context.Context, id sessions.KeyID, now sessions.Time) (sessions.AccessKey, error) {
	return write(ctx, s, func() (sessions.AccessKey, error) {
		i := slices.IndexFunc(s.accessKeys, func(k sessions.StoredKey) bool { return k.ID == id })
		if i < 0 {
			return sessions.AccessKey{}, sessions.ErrNoKey
		}
		if s.accessKeys[i].RevokedAt == 0 {
			s.accessKeys[i].RevokedAt = now
		}
		return s.accessKeys[i].AccessKey, nil
	})
}

// Keys returns all keys; see the port.
func (s *Store) Keys(ctx context.Context) ([]sessions.StoredKey, error) {
	return read(ctx, s, func() ([]sessions.StoredKey, error) { return slices.Clone(s.accessKeys), nil })
}
