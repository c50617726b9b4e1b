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
	document any             // the schema as the validator holds it, to quote its rules from
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
	held, resolved, err := resolve(raw)
	if err != nil {
		return nil, err
	}
	return &argSchema{raw: raw, document: held, resolved: resolved}, nil
}

// resolve returns a schema as the validator holds it, and ready to validate. Its
// references are checked in that form and not as they were written: the reader
// takes keywords in any case, so that what it holds may refer where the text,
// read by the letter, does not.
func resolve(raw json.RawMessage) (held map[string]any, _ *jsonschema.Resolved, err error) {
	// A schema may come from anywhere, and the resolver asserts what it expects.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the resolver gave up on it: %v", fault)
		}
	}()
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(&schema)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(text, &held); err != nil {
		return nil, nil, err
	}
	if err := checkRefs(held); err != nil {
		return nil, nil, err
	}
	resolved, err := schema.Resolve(nil)
	return held, resolved, err
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
