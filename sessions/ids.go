package sessions

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Owner is the principal a session belongs to. Ids and keys are unique per owner.
type Owner string

// LocalOwner is the only owner of a host without keys.
const LocalOwner Owner = "local"

// SessionID addresses a session of one owner. A later session may carry it
// again; Incarnation tells the lives apart.
type SessionID string

// DefaultProfile is the profile key meant when a request names none.
const DefaultProfile = "default"

// Key is what a conversation is about and which profile answers. At most one
// session of an owner has a given key. The zero Key means "no key".
type Key struct {
	Target  string
	Profile string
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.Target == "" }

// Address names a session: by ID, or else by Key. Exactly one is set, except in
// CreateSession, where an id and a key may be given to the same session.
type Address struct {
	ID  SessionID
	Key Key
}

// String formats the address for logs.
func (a Address) String() string {
	if a.ID != "" {
		return string(a.ID)
	}
	return fmt.Sprintf("(%q, %q)", a.Key.Target, a.Key.Profile)
}

// Incarnation identifies one life of a session. It is never reused: deleting
// and creating again, under whatever id or key, is another incarnation.
type Incarnation int64

// Epoch counts the activations of a session. A write that names an older epoch
// than the stored one is refused.
type Epoch int64

// Fence names the life and the activation a write belongs to.
type Fence struct {
	Incarnation Incarnation
	Epoch       Epoch
}

// TurnID identifies a turn over all lives of all sessions.
type TurnID string

// RequestID is the client's name for one request; the key of deduplication.
type RequestID string

// CallID identifies a tool call within its session.
type CallID string

// Longest client-chosen names, in bytes.
const (
	MaxSessionIDBytes = 128
	MaxKeyBytes       = 256
	MaxRequestIDBytes = 128
)

// CheckSessionID returns INVALID_REQUEST about field unless id is 1 to 128 of
// A-Z a-z 0-9 _ . : - beginning with a letter or digit.
func CheckSessionID(field string, id SessionID) error {
	if id == "" || len(id) > MaxSessionIDBytes {
		return InvalidField(field, "A session id has 1 to %d characters; this one has %d.", MaxSessionIDBytes, len(id))
	}
	for i, r := range id {
		alnum := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("_.:-", r)) {
			return InvalidField(field, "A session id is made of letters, digits and _ . : - and begins with a letter or digit; character %d is not.", i+1)
		}
	}
	return nil
}

// CheckKeyPart returns INVALID_REQUEST about field unless part (a target key or
// a profile key) is 1 to 256 bytes of printable UTF-8.
func CheckKeyPart(field, part string) error {
	if part == "" || len(part) > MaxKeyBytes {
		return InvalidField(field, "A key has 1 to %d bytes; this one has %d.", MaxKeyBytes, len(part))
	}
	if !utf8.ValidString(part) {
		return InvalidField(field, "A key must be valid UTF-8.")
	}
	for i, r := range part {
		if !unicode.IsPrint(r) {
			return InvalidField(field, "A key must be printable; the character at byte %d is not.", i)
		}
	}
	return nil
}

// CheckRequestID returns INVALID_REQUEST about field unless id is 1 to 128
// printable ASCII characters.
func CheckRequestID(field string, id RequestID) error {
	if id == "" || len(id) > MaxRequestIDBytes {
		return InvalidField(field, "A request id has 1 to %d characters; this one has %d.", MaxRequestIDBytes, len(id))
	}
	for i := range len(id) {
		if id[i] < 0x20 || id[i] > 0x7e {
			return InvalidField(field, "A request id is printable ASCII; character %d is not.", i+1)
		}
	}
	return nil
}
