package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// badArgs is what is wrong with arguments, and where: at is a JSON pointer, "" for
// the whole.
type badArgs struct{ at, what string }

func (b *badArgs) failure() *Failure {
	if b.at == "" {
		return &Failure{Message: "The arguments " + b.what + "."}
	}
	return &Failure{Message: fmt.Sprintf("The argument %q %s.", shorten(b.at), b.what)}
}

// under returns b as seen from one level further up.
func (b *badArgs) under(segment any) *badArgs {
	if b == nil || len(b.at) > quoteBytes {
		return b
	}
	return &badArgs{pointer(segment) + b.at, b.what}
}

// decodeArgs reads one JSON object. It refuses a name given twice: readers
// differ in which of the two they take, so that a tool could be handed another
// value than the one that was checked.
func decodeArgs(raw []byte) (map[string]any, *badArgs) {
	// json.Valid also bounds the depth, which the reader below does not.
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, &badArgs{what: "are not valid JSON; give one JSON object"}
	}
	value, bad := readValue(json.NewDecoder(bytes.NewReader(raw)))
	if bad != nil {
		return nil, bad
	}
	args, ok := value.(map[string]any)
	if !ok {
		return nil, &badArgs{what: "must be one JSON object"}
	}
	return args, nil
}

// readValue reads the next value of a text that is valid JSON.
func readValue(d *json.Decoder) (any, *badArgs) {
	token, err := d.Token()
	if err != nil {
		return nil, &badArgs{what: "cannot hold a number of this size"}
	}
	switch token {
	case json.Delim('{'):
		return readObject(d)
	case json.Delim('['):
		return readArray(d)
	default:
		return token, nil
	}
}

func readObject(d *json.Decoder) (any, *badArgs) {
	object := map[string]any{}
	for d.More() {
		token, _ := d.Token()
		name, _ := token.(string)
		if _, twice := object[name]; twice {
			return nil, (&badArgs{what: "is given twice"}).under(name)
		}
		value, bad := readValue(d)
		if bad != nil {
			return nil, bad.under(name)
		}
		object[name] = value
	}
	_, _ = d.Token() // the closing brace, known to be there
	return object, nil
}

func readArray(d *json.Decoder) (any, *badArgs) {
	array := []any{}
	for d.More() {
		value, bad := readValue(d)
		if bad != nil {
			return nil, bad.under(len(array))
		}
		array = append(array, value)
	}
	_, _ = d.Token() // the closing bracket, known to be there
	return array, nil
}
