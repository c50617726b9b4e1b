package memory

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"maps"

	"agenthost/sessions"
)

// hash stands in a tombstone for what must be recognised without being kept.
type hash [sha256.Size]byte

// claimGrave is what is left of a request whose session was deleted.
type claimGrave struct {
	session     hash
	life        sessions.Incarnation
	fingerprint [32]byte
	expires     sessions.Time
}

// sessionGrave is what is left of a session that was deleted.
type sessionGrave struct {
	life    sessions.Incarnation
	expires sessions.Time
}

func (s *Store) hashOf(kind byte, owner sessions.Owner, id string) (h hash) {
	mac := hmac.New(sha256.New, s.key[:])
	// The length keeps ("ab", "c") and ("a", "bc") apart.
	mac.Write(binary.AppendUvarint([]byte{kind}, uint64(len(owner))))
	mac.Write([]byte(owner))
	mac.Write([]byte(id))
	mac.Sum(h[:0])
	return h
}

func (s *Store) sessionHash(owner sessions.Owner, id sessions.SessionID) hash {
	return s.hashOf('s', owner, string(id))
}

func (s *Store) requestHash(r ownRequest) hash { return s.hashOf('r', r.owner, string(r.id)) }

// bury leaves the tombstones of a session and of its live claims. It returns how
// many claims went.
func (s *Store) bury(r *record, now, expires sessions.Time) (claims int64) {
	grave := s.sessionHash(r.session.Owner, r.session.ID)
	s.sessionGraves[grave] = sessionGrave{r.life(), expires}
	for request, c := range s.claims {
		if c.life != r.life() {
			continue
		}
		if c.alive(now) {
			s.claimGraves[s.requestHash(request)] = claimGrave{grave, c.life, c.fingerprint, expires}
		}
		delete(s.claims, request)
		claims++
	}
	return claims
}

// raise removes the tombstones of earlier lives of an id that is used again.
func (s *Store) raise(owner sessions.Owner, id sessions.SessionID) {
	grave := s.sessionHash(owner, id)
	delete(s.sessionGraves, grave)
	maps.DeleteFunc(s.claimGraves, func(_ hash, g claimGrave) bool { return g.session == grave })
}
