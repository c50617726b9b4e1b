package tools

import (
	"slices"
	"strings"

	"agenthost/sessions"
)

// TargetEntry is the entry of a profile's tools that stands for the session's
// own target: <targetRoot>/<targetKey>.
const TargetEntry = "{target}"

// DefaultTargetRoot is where the tools of targets are mounted by default.
const DefaultTargetRoot = "/targets"

// Scope is the part of the tree that a session's model may call. It is a value
// that never changes; the zero Scope allows nothing.
type Scope struct{ roots []string }

// NewScope returns the scope of a session under a profile whose tools are
// allowed. Each entry is a path or TargetEntry. targetKey, which clients
// choose, contributes a path strictly below targetRoot or, when it is empty or
// no valid relative path, nothing; it is never a reason for an error. An error
// is INVALID_REQUEST about the configuration, as CheckAllowed finds it, or
// about targetRoot.
func NewScope(allowed []string, targetRoot, targetKey string) (Scope, error) {
	targetRoot, err := ParsePath(targetRoot)
	if err != nil {
		return Scope{}, refuse("The target root is no tool path: %s", messageOf(err))
	}
	var roots []string
	for i, entry := range allowed {
		if entry == TargetEntry {
			if root, ok := targetPath(targetRoot, targetKey); ok {
				roots = append(roots, root)
			}
			continue
		}
		root, err := parseEntry(i, entry)
		if err != nil {
			return Scope{}, err
		}
		roots = append(roots, root)
	}
	return Scope{roots}, nil
}

// CheckAllowed returns INVALID_REQUEST about the first entry of a profile's
// tools that is neither a path nor TargetEntry; details.field is its JSON
// pointer within the list.
func CheckAllowed(allowed []string) error {
	for i, entry := range allowed {
		if entry == TargetEntry {
			continue
		}
		if _, err := parseEntry(i, entry); err != nil {
			return err
		}
	}
	return nil
}

// Allows reports whether path lies in the scope, mounted or not. What is no
// path lies in no scope.
func (s Scope) Allows(path string) bool {
	path, err := ParsePath(path)
	return err == nil && slices.ContainsFunc(s.roots, func(root string) bool { return Within(path, root) })
}

// targetPath returns the place of a target. Since ParsePath refuses every way
// of leaving a folder, a valid path made of root, a slash and key is below root.
func targetPath(root, key string) (string, bool) {
	if key == "" || strings.HasPrefix(key, "/") {
		return "", false
	}
	path, err := ParsePath(root + "/" + key)
	return path, err == nil
}

func parseEntry(i int, entry string) (string, error) {
	path, err := ParsePath(entry)
	if err != nil {
		return "", sessions.InvalidField(pointer(i), "The entry %q is neither a tool path nor %s: %s", entry, TargetEntry, messageOf(err))
	}
	return path, nil
}
