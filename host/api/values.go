package api

import (
	"fmt"
	"strings"

	"agenthost/host/api/strictjson"
)

// Nullable is a field whose null means something other than absence: the parentId
// of $sessionList and the value of $stateSet.
type Nullable[T any] = strictjson.Nullable[T]

// OneOrMany is a list that may be written as its only element.
type OneOrMany[T any] = strictjson.OneOrMany[T]

// Null returns a Nullable that is null.
func Null[T any]() Nullable[T] { return strictjson.Null[T]() }

// Of returns a Nullable that holds value.
func Of[T any](value T) Nullable[T] { return strictjson.Of(value) }

// orDefault returns what p points at, or def when it is nil.
func orDefault[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// listed joins choices for a sentence.
func listed[T ~string](choices []T) string {
	quoted := make([]string, len(choices))
	for i, c := range choices {
		quoted[i] = fmt.Sprintf("%q", string(c))
	}
	return strings.Join(quoted, ", ")
}
