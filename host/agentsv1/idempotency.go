package agentsv1

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"agenthost/sessions"
)

// maxKeyBytes is the longest Idempotency-Key.
const maxKeyBytes = 128

// idempotencyKey stands for a client's key, whatever bytes that has; "" for none.
type idempotencyKey string

// idempotencyKey returns the key that the request is safe to repeat under.
func (v *visit) idempotencyKey() (idempotencyKey, error) {
	given := v.r.Header.Values("Idempotency-Key")
	switch {
	case len(given) == 0:
		return "", nil
	case len(given) > 1 || len(given[0]) < 1 || len(given[0]) > maxKeyBytes:
		return "", invalid("", "The Idempotency-Key is given once and has 1 to %d bytes.", maxKeyBytes)
	}
	sum := sha256.Sum256([]byte(given[0]))
	return idempotencyKey(hex.EncodeToString(sum[:])), nil
}

// of returns the request id of one part of the request, "" without a key.
func (k idempotencyKey) of(part string) sessions.RequestID {
	if k == "" {
		return ""
	}
	return sessions.RequestID(string(k) + "/" + part)
}

// fingerprint digests a body without its spaces and with its names sorted, and
// what it is sent to.
func fingerprint(to string, object json.RawMessage) [32]byte {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	canonical := []byte(object)
	if decoder.Decode(&value) == nil {
		if sorted, err := json.Marshal(value); err == nil {
			canonical = sorted
		}
	}
	return sha256.Sum256(append([]byte(to+"\n"), canonical...))
}
