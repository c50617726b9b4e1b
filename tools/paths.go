package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"agenthost/sessions"
)

// MaxPathBytes is the longest path, with its leading slash.
const MaxPathBytes = 256

// ParsePath returns the one spelling of a tool path: a slash before each
// segment and none at the end. The leading slash may be missing in s, nothing
// else may differ, so two paths name the same place only if they are equal.
// What it refuses is INVALID_REQUEST: segments that are empty or made of dots
// only, and every character by which one place could be written in two ways or
// read as something else (backslash, percent sign, braces, controls and
// whatever does not print).
func ParsePath(s string) (string, error) {
	path := s
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if len(path) > MaxPathBytes {
		return "", refuse("A tool path has at most %d bytes; this one has %d.", MaxPathBytes, len(path))
	}
	if !utf8.ValidString(path) {
		return "", refuse("A tool path must be valid UTF-8.")
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if err := checkSegment(segment); err != nil {
			return "", err
		}
	}
	return path, nil
}

func checkSegment(segment string) error {
	switch {
	case segment == "":
		return refuse("A tool path has no empty segment and no slash at its end.")
	case strings.Trim(segment, ".") == "":
		return refuse("A segment of a tool path is not made of dots only.")
	case strings.TrimSpace(segment) != segment:
		return refuse("A segment of a tool path neither begins nor ends with a space.")
	}
	for _, r := range segment {
		if !unicode.IsPrint(r) || strings.ContainsRune(`\%{}`, r) {
			return refuse("The character %q cannot be part of a tool path.", r)
		}
	}
	return nil
}

// Within reports whether path is root or lies below it, by whole segments:
// "/a/b/c" is within "/a/b", "/a/bc" is not. Both must come from ParsePath.
func Within(path, root string) bool {
	below, ok := strings.CutPrefix(path, root)
	return ok && (below == "" || below[0] == '/')
}

func refuse(format string, args ...any) *sessions.Error {
	return sessions.Errorf(sessions.CodeInvalidRequest, format, args...)
}
