package actors

import (
	"strings"
	"unicode/utf8"
)

// wholeRunes puts characters together again that a model's deltas have cut. Bytes
// that belong to none become U+FFFD.
type wholeRunes struct{ cut string }

// take returns what is whole of the text so far and was not returned before.
func (w *wholeRunes) take(piece string) string {
	piece = w.cut + piece
	whole := len(piece)
	for i := max(0, len(piece)-utf8.UTFMax+1); i < len(piece); i++ {
		if utf8.RuneStart(piece[i]) && !utf8.FullRuneInString(piece[i:]) {
			whole = i
			break
		}
	}
	w.cut = piece[whole:]
	return valid(piece[:whole])
}

// rest returns what is left when no more is to come.
func (w *wholeRunes) rest() string {
	left := valid(w.cut)
	w.cut = ""
	return left
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
