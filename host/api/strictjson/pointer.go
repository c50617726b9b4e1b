package strictjson

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxSegmentBytes bounds how much of a name a pointer shows, so that an error
// stays small whatever was sent.
const maxSegmentBytes = 128

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer extends a JSON pointer (RFC 6901) by a name, escaped. A name above
// 128 bytes is cut and ends in "…".
func Pointer(parent, name string) string {
	if len(name) > maxSegmentBytes {
		cut := maxSegmentBytes
		for cut > 0 && !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + "…"
	}
	return parent + "/" + pointerEscapes.Replace(strings.ToValidUTF8(name, "\uFFFD"))
}

// PointerAt extends a JSON pointer by an index.
func PointerAt(parent string, index int) string { return parent + "/" + strconv.Itoa(index) }
