package sqlite

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"agenthost/sessions"
)

// tombstones hashes what must be recognised after a delete without being kept.
type tombstones struct{ key []byte }

// request returns the hash of an owner's request id.
func (k tombstones) request(owner sessions.Owner, id sessions.RequestID) []byte {
	return k.hash('r', string(owner), string(id))
}

// session returns the hash of an owner's session id.
func (k tombstones) session(owner sessions.Owner, id sessions.SessionID) []byte {
	return k.hash('s', string(owner), string(id))
}

// agent returns the hash of an owner's saved agent's id.
func (k tombstones) agent(owner sessions.Owner, id sessions.AgentID) []byte {
	return k.hash('a', string(owner), string(id))
}

// agentRequest returns the hash of a request id that an owner saves an agent under.
func (k tombstones) agentRequest(owner sessions.Owner, id sessions.RequestID) []byte {
	return k.hash('q', string(owner), string(id))
}

func (k tombstones) hash(kind byte, owner, id string) []byte {
	mac := hmac.New(sha256.New, k.key)
	// The length keeps ("ab", "c") and ("a", "bc") apart.
	mac.Write(binary.AppendUvarint([]byte{kind}, uint64(len(owner))))
	mac.Write([]byte(owner))
	mac.Write([]byte(id))
	return mac.Sum(nil)
}

// mortalClaim is a live claim whose session is being deleted.
type mortalClaim struct {
	owner       sessions.Owner
	request     sessions.RequestID
	session     sessions.SessionID
	life        sessions.Incarnation
	fingerprint []byte
}

const selectMortal = `SELECT c.owner, c.request_id, s.id, c.sid, c.fingerprint
    FROM dedupe_claims c JOIN sessions s ON s.sid = c.sid WHERE (c.expires_ms IS NULL OR c.expires_ms > ?) AND `

const claimsOfLives = selectMortal + "c.sid IN (SELECT value FROM json_each(?))"

// claimsOf returns the live claims of lives, a JSON array.
func claimsOf(t *tx, lives string, now sessions.Time) ([]mortalClaim, error) {
	return mortalClaims(t, claimsOfLives, now, lives)
}

// claimsOfOwner returns the live claims of all of an owner's sessions.
func claimsOfOwner(t *tx, owner sessions.Owner, now sessions.Time) ([]mortalClaim, error) {
	return mortalClaims(t, selectMortal+"c.owner = ?", now, owner)
}

func mortalClaims(t *tx, query string, args ...any) (found []mortalClaim, err error) {
	err = t.each(always, query, func(row scanner) error {
		var c mortalClaim
		err := row.Scan(&c.owner, &c.request, &c.session, &c.life, &c.fingerprint)
		found = append(found, c)
		return err
	}, args...)
	return found, err
}

// buryClaims writes the tombstones of claims, in the order of their table, which
// takes half the time.
func (k tombstones) buryClaims(t *tx, claims []mortalClaim, expires sessions.Time) error {
	type grave struct {
		hash  []byte
		claim mortalClaim
	}
	graves, ofSession := make([]grave, len(claims)), map[sessions.Incarnation][]byte{}
	for i, c := range claims {
		graves[i] = grave{k.request(c.owner, c.request), c}
		if ofSession[c.life] == nil {
			ofSession[c.life] = k.session(c.owner, c.session)
		}
	}
	slices.SortFunc(graves, func(a, b grave) int { return bytes.Compare(a.hash, b.hash) })
	rows := make([][]any, len(graves))
	for i, g := range graves {
		rows[i] = []any{g.hash, ofSession[g.claim.life], g.claim.life, g.claim.fingerprint, expires}
	}
	return t.insertAll("INSERT INTO claim_tombstones (request_hash, session_hash, sid, fingerprint, expires_ms) VALUES ", rows,
		` ON CONFLICT (request_hash) DO UPDATE SET session_hash = excluded.session_hash,
            sid = excluded.sid, fingerprint = excluded.fingerprint, expires_ms = excluded.expires_ms`)
}

// bury writes the tombstones of lives.
func (k tombstones) bury(t *tx, gone []sessions.DeletedSession, expires sessions.Time) error {
	rows := make([][]any, len(gone))
	for i, s := range gone {
		rows[i] = []any{k.session(s.Owner, s.ID), s.Fence.Incarnation, expires}
	}
	return t.insertAll("INSERT INTO session_tombstones (session_hash, sid, expires_ms) VALUES ", rows,
		" ON CONFLICT (session_hash) DO UPDATE SET sid = excluded.sid, expires_ms = excluded.expires_ms")
}

// raise removes the tombstones of earlier lives of an id that is used again.
func (k tombstones) raise(t *tx, owner sessions.Owner, id sessions.SessionID) error {
	of := k.session(owner, id)
	if _, err := t.exec("DELETE FROM session_tombstones WHERE session_hash = ?", of); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM claim_tombstones WHERE session_hash = ?", of)
	return err
}
