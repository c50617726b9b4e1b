package tools

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// literals are the keywords whose values are data, not schemas.
var literals = []string{"const", "enum", "default", "examples"}

// drafts are the values of $schema that the validator takes.
var drafts = []any{
	nil, "https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
}

// checkRefs refuses what the validator could not follow or not leave again. A
// schema that leads back to itself without going further into the arguments
// would make a check recurse until the process dies, and schemas come from
// outside. To see that, references must be plain: "#" or "#/…".
func checkRefs(document map[string]any) error {
	if !slices.Contains(drafts, document["$schema"]) {
		return errors.New("its $schema is neither draft 2020-12 nor draft-07")
	}
	w := refWalk{document: document, state: map[uintptr]walkState{}}
	return w.everything(document, true)
}

type walkState int

const (
	walkOpen walkState = iota + 1
	walkDone
)

// refWalk looks for circles among the schemas that apply to one same argument.
type refWalk struct {
	document map[string]any
	state    map[uintptr]walkState
}

// everything starts a walk at each object of the document.
func (w *refWalk) everything(value any, root bool) error {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if err := w.everything(item, false); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, named := value["$id"].(string); named && !root {
			return errors.New("only its root may have an $id")
		}
		if err := w.walk(value); err != nil {
			return err
		}
		for keyword, item := range value {
			if slices.Contains(literals, keyword) {
				continue
			}
			if err := w.everything(item, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *refWalk) walk(schema map[string]any) error {
	id := reflect.ValueOf(schema).Pointer()
	switch w.state[id] {
	case walkOpen:
		return errors.New("it refers to itself in a circle")
	case walkDone:
		return nil
	}
	w.state[id] = walkOpen
	next, err := w.sameArgument(schema)
	if err != nil {
		return err
	}
	for _, s := range next {
		if err := w.walk(s); err != nil {
			return err
		}
	}
	w.state[id] = walkDone
	return nil
}

// sameArgument returns the schemas that a schema applies to the argument it is
// itself applied to.
func (w *refWalk) sameArgument(schema map[string]any) ([]map[string]any, error) {
	var next []map[string]any
	add := func(value any) {
		if s, ok := value.(map[string]any); ok {
			next = append(next, s)
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		if ref != "#" && !strings.HasPrefix(ref, "#/") {
			return nil, fmt.Errorf("its reference %q is not of the form #/…", shorten(ref))
		}
		at, err := url.PathUnescape(ref[1:])
		if err != nil {
			return nil, fmt.Errorf("its reference %q is badly escaped", shorten(ref))
		}
		add(lookup(w.document, at))
	}
	for _, keyword := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := schema[keyword].(string); ok {
			return nil, fmt.Errorf("it uses %s", keyword)
		}
	}
	for _, keyword := range []string{"not", "if", "then", "else"} {
		add(schema[keyword])
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[keyword].([]any)
		for _, s := range list {
			add(s)
		}
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		named, _ := schema[keyword].(map[string]any)
		for _, s := range named {
			add(s)
		}
	}
	return next, nil
}
