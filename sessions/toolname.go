package sessions

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// FunctionNameMax is the longest function name, in bytes, that every provider
// of models takes.
const FunctionNameMax = 64

// hashDigits is the length of the hash that ends a name that is not plain.
const hashDigits = 8

// FunctionName derives from a tool's path the name a model calls it by:
// letters, digits, "_" and "-", at most FunctionNameMax of them. The leading
// slash is dropped, the others become "__". A path that is too long for that,
// or holds something that would make its name the name of another path too,
// gets a name ending in "_" and 8 hex digits of the path's SHA-256. The name of
// a path is the same in every process and version.
func FunctionName(path string) string {
	path = strings.TrimPrefix(path, "/")
	name := strings.ReplaceAll(path, "/", "__")
	if len(name) <= FunctionNameMax && isPlain(path) && !endsInHash(name) {
		return name
	}
	sum := sha256.Sum256([]byte(path))
	name = strings.Map(nameRune, name)
	name = name[:min(len(name), FunctionNameMax-hashDigits-1)]
	return name + "_" + hex.EncodeToString(sum[:])[:hashDigits]
}

// isPlain reports whether the slashes of path can be told from its underscores
// once both are underscores, and nothing in it needs replacing.
func isPlain(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment[0] == '_' || segment[len(segment)-1] == '_' ||
			strings.Contains(segment, "__") || strings.Map(nameRune, segment) != segment {
			return false
		}
	}
	return true
}

// endsInHash reports whether name looks like one that was given a hash.
func endsInHash(name string) bool {
	at := len(name) - hashDigits
	return at > 0 && name[at-1] == '_' && strings.Trim(name[at:], "0123456789abcdef") == ""
}

func nameRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return r
	default:
		return '_'
	}
}
