package actors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxLevels is how deep JSON of models and tools may be nested. Readers of the
// wire refuse what is nested too deep, and so does the store's own reader.
const maxLevels = 100

// canonical returns a JSON value in the form in which the store gives it back,
// so that the model's input is the same bytes before and after a reload. The
// error is the end of a sentence about the value.
func canonical(value json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(value)) == 0 {
		return json.RawMessage("null"), nil
	}
	var b bytes.Buffer
	if json.Compact(&b, bytes.ToValidUTF8(value, []byte("\uFFFD"))) != nil {
		return nil, errors.New("is no JSON")
	}
	if levels(b.Bytes()) > maxLevels {
		return nil, fmt.Errorf("is nested deeper than %d levels", maxLevels)
	}
	return b.Bytes(), nil
}

// levels returns how deep a JSON value is nested.
func levels(value []byte) int {
	deepest, depth, quoted := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}
