package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// depth is how many JSON texts within each other a text is looked for in: a
// message is JSON, and may hold JSON as a text.
const depth = 2

// formsOf returns what a text may be stored as: itself, and how the usual writers
// of JSON would write it inside of a string.
func formsOf(text string) [][]byte {
	forms := []string{text}
	level := forms
	for range depth {
		var deeper []string
		for _, form := range level {
			plain := escaped(form, false)
			for _, f := range []string{plain, escaped(form, true), asciiOnly(plain)} {
				if !slices.Contains(forms, f) {
					forms, deeper = append(forms, f), append(deeper, f)
				}
			}
		}
		level = deeper
	}
	all := make([][]byte, len(forms))
	for i, form := range forms {
		all[i] = []byte(form)
	}
	return all
}

// escaped returns text as it stands between the quotes of a JSON string.
func escaped(text string, html bool) string {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(html)
	_ = encoder.Encode(text) // a string always can be
	return strings.TrimSuffix(buf.String(), "\"\n")[1:]
}

// asciiOnly writes what is not ASCII in a JSON string by its numbers.
func asciiOnly(escaped string) string {
	var b strings.Builder
	for _, r := range escaped {
		switch high, low := utf16.EncodeRune(r); {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case high != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
