package strictjson

import (
	"bytes"
	"encoding/json"
)

// Nullable is a field whose null means something other than absence. The zero
// value is absent; tag such a field omitzero.
type Nullable[T any] struct {
	state presence
	value T
}

type presence int

const (
	absent presence = iota
	null
	given
)

// Null returns a Nullable that is null.
func Null[T any]() Nullable[T] { return Nullable[T]{state: null} }

// Of returns a Nullable that holds value.
func Of[T any](value T) Nullable[T] { return Nullable[T]{given, value} }

// IsZero reports whether the field is absent.
func (n Nullable[T]) IsZero() bool { return n.state == absent }

// IsNull reports whether the field is null.
func (n Nullable[T]) IsNull() bool { return n.state == null }

// Value returns the value, and false when the field is absent or null.
func (n Nullable[T]) Value() (T, bool) { return n.value, n.state == given }

// MarshalJSON writes the value, or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if n.state != given {
		return []byte("null"), nil
	}
	return json.Marshal(n.value)
}

// UnmarshalJSON reads a value, or null.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*n = Null[T]()
		return nil
	}
	*n = Of(*new(T))
	return json.Unmarshal(data, &n.value)
}

func (n *Nullable[T]) setNull() { *n = Null[T]() }

func (n *Nullable[T]) setValue() any {
	*n = Of(*new(T))
	return &n.value
}

// OneOrMany is a list that may be written as its only element.
type OneOrMany[T any] []T

// UnmarshalJSON reads a list or an element.
func (m *OneOrMany[T]) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]T)(m))
	}
	var one T
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	*m = OneOrMany[T]{one}
	return nil
}

func (m *OneOrMany[T]) grow() any {
	*m = append(*m, *new(T))
	return &(*m)[len(*m)-1]
}

// nullable and oneOrMany are how the decoder fills the two without knowing T.
type (
	nullable interface {
		setNull()
		setValue() any
	}
	oneOrMany interface{ grow() any }
)
