package sessions

import "crypto/sha256"

// KeyID names an access key. It is no secret.
type KeyID string

// KeyRole says what the holder of an access key may do.
type KeyRole string

// The roles.
const (
	KeyOfUser  KeyRole = "user"  // everything with the sessions of the key's owner
	KeyOfAdmin KeyRole = "admin" // everything with the sessions of every owner, and with the host
)

// AccessKey is what is known of a key by which callers prove who they are. Its
// secret is not: only a hash of that is kept.
type AccessKey struct {
	ID    KeyID   `json:"id"`
	Owner Owner   `json:"owner"`
	Role  KeyRole `json:"role"`
	Name  string  `json:"name,omitempty"` // for people
	// PerSecond is how many requests a second the key may make for long, and Burst
	// how many at once; 0 means no bound.
	PerSecond int  `json:"perSecond,omitempty"`
	Burst     int  `json:"burst,omitempty"`
	CreatedAt Time `json:"createdAt"`
	RevokedAt Time `json:"revokedAt,omitzero"` // 0 while the key is good
}

// KeyHash is a hash of a key's secret, made with a secret of the store's own: whoever
// reads it can neither find the key nor try keys.
type KeyHash [sha256.Size]byte

// StoredKey is a key as a store has it.
type StoredKey struct {
	AccessKey
	Hash KeyHash
}

// ErrNoKey is the answer to an id that no key has.
var ErrNoKey = Errorf(CodeNotFound, "There is no key with this id; list the keys to see those there are.")

// ErrKeyTaken refuses a key whose id or secret another one has.
var ErrKeyTaken = Errorf(CodeConflict, "There is a key with this id or secret already; make another one.")

// AllOwners stands for every owner where an admin may ask for that. No owner has
// this name.
const AllOwners Owner = "*"

// CheckOwner returns INVALID_REQUEST about field unless owner is 1 to 256 bytes of
// printable UTF-8 and not AllOwners.
func CheckOwner(field string, owner Owner) error {
	if owner == AllOwners || CheckKeyPart(field, string(owner)) != nil {
		return InvalidField(field, "An owner has 1 to %d bytes of printable UTF-8, and is not %s.", MaxKeyBytes, AllOwners)
	}
	return nil
}
