package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// anyObject is the schema of a tool that gives none.
const anyObject = `{"type":"object"}`

// argSchema checks the arguments of one tool. It is safe for concurrent use.
type argSchema struct {
	raw      json.RawMessage // as shown to models
	document any             // raw decoded, to quote its rules from
	resolved *jsonschema.Resolved
}

// newArgSchema prepares a schema once, so that a check finds no fault in the
// schema itself any more. The error's text is for whoever mounts the tool.
func newArgSchema(raw json.RawMessage) (*argSchema, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage(anyObject)
	}
	var document map[string]any
	if err := json.Unmarshal(raw, &document); err != nil || document == nil {
		return nil, errors.New("it is no JSON object")
	}
	if kind, given := document["type"]; !given {
		// Providers of models insist on the word, which JSON Schema lets one leave out.
		document["type"] = "object"
		var err error
		if raw, err = json.Marshal(document); err != nil {
			return nil, fmt.Errorf("it cannot be completed: %w", err)
		}
	} else if kind != "object" {
		return nil, fmt.Errorf(`its type is %v, but arguments are always an "object"`, kind)
	}
	if err := checkRefs(document); err != nil {
		return nil, err
	}
	resolved, err := resolve(raw)
	if err != nil {
		return nil, err
	}
	return &argSchema{raw: raw, document: document, resolved: resolved}, nil
}

func resolve(raw json.RawMessage) (_ *jsonschema.Resolved, err error) {
	// A schema may come from anywhere, and the resolver asserts what it expects.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the resolver gave up on it: %v", fault)
		}
	}()
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
}

// check returns a *Failure, as the error that it is, or nil.
func (s *argSchema) check(raw []byte) error {
	args, bad := decodeArgs(raw)
	if bad != nil {
		return bad.failure()
	}
	if err := s.resolved.Validate(args); err != nil {
		return s.explain(err)
	}
	return nil
}
