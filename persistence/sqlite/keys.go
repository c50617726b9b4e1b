package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"agenthost/sessions"
)

const keyColumns = "id, secret_hash, owner, role, name, per_second, burst, created_ms, revoked_ms"

func scanKey(row scanner) (k sessions.StoredKey, err error) {
	var hash []byte
	err = row.Scan(&k.ID, &hash, &k.Owner, &k.Role, &k.Name, &k.PerSecond, &k.Burst, &k.CreatedAt, &k.RevokedAt)
	copy(k.Hash[:], hash)
	return k, err
}

// KeyHash hashes the secret of a key; see the port.
func (s *Store) KeyHash(secret string) sessions.KeyHash {
	return sessions.KeyHash(s.tombs.hash('k', "", secret))
}

// CreateKey stores a key; see the port.
func (s *Store) CreateKey(ctx context.Context, k sessions.StoredKey) error {
	_, err := do(ctx, s.writer, func(t *tx) (int64, error) {
		n, err := t.exec("INSERT INTO keys ("+keyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			k.ID, k.Hash[:], k.Owner, k.Role, k.Name, k.PerSecond, k.Burst, k.CreatedAt, k.RevokedAt)
		if err == nil && n == 0 {
			err = sessions.ErrKeyTaken
		}
		return n, err
	})
	return err
}

// RevokeKey marks a key as revoked; see the port.
func (s *Store) RevokeKey(ctx context.Context, id sessions.KeyID, now sessions.Time) (sessions.AccessKey, error) {
	return do(ctx, s.writer, func(t *tx) (sessions.AccessKey, error) {
		if _, err := t.exec("UPDATE keys SET revoked_ms = ? WHERE id = ? AND revoked_ms = 0", now, id); err != nil {
			return sessions.AccessKey{}, err
		}
		k, err := scanKey(t.row(always, "SELECT "+keyColumns+" FROM keys WHERE id = ?", id))
		if errors.Is(err, sql.ErrNoRows) {
			err = sessions.ErrNoKey
		}
		return k.AccessKey, err
	})
}

// Keys returns all keys; see the port.
func (s *Store) Keys(ctx context.Context) (keys []sessions.StoredKey, err error) {
	err = s.readers.read(ctx, func(q querier) error {
		return q.each(ctx, "SELECT "+keyColumns+" FROM keys ORDER BY num", func(row scanner) error {
			k, err := scanKey(row)
			keys = append(keys, k)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}
