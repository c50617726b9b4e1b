package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"agenthost/sessions"
)

// FuncOption sets more of what a function says about itself.
type FuncOption func(*Spec)

// Repeatable says that a second run of a call does no harm.
func Repeatable() FuncOption { return func(s *Spec) { s.Repeatable = true } }

// InOrder says that the calls of one step run one after the other.
func InOrder() FuncOption { return func(s *Spec) { s.InOrder = true } }

// Func makes a tool of a Go function. The schema of the arguments derives from
// In, a struct or a map with string keys: the json tags name the arguments,
// omitempty and omitzero make one optional, and a jsonschema tag describes it.
// The output is Out as JSON. An error of fn is treated like one of Invoke.
// Func fails if In cannot be described by a schema.
func Func[In, Out any](description string, fn func(ctx context.Context, call Call, in In) (Out, error), opts ...FuncOption) (Tool, error) {
	schema, err := schemaFor[In]()
	if err != nil {
		return nil, sessions.Errorf(sessions.CodeInvalidRequest,
			"%s cannot be the arguments of a tool; use a struct or a map with string keys.", reflect.TypeFor[In]()).Because(err)
	}
	f := &function[In, Out]{spec: Spec{Description: description, Schema: schema}, fn: fn}
	for _, opt := range opts {
		opt(&f.spec)
	}
	return f, nil
}

// MustFunc is Func for functions known when the program is written; it panics
// where Func fails.
func MustFunc[In, Out any](description string, fn func(ctx context.Context, call Call, in In) (Out, error), opts ...FuncOption) Tool {
	tool, err := Func(description, fn, opts...)
	if err != nil {
		panic(err)
	}
	return tool
}

type function[In, Out any] struct {
	spec Spec
	fn   func(ctx context.Context, call Call, in In) (Out, error)
}

func (f *function[In, Out]) Spec() Spec { return f.spec }

func (f *function[In, Out]) Invoke(ctx context.Context, call Call) (json.RawMessage, error) {
	var in In
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, misfit(err)
	}
	out, err := f.fn(ctx, call, in)
	if err != nil {
		return nil, err
	}
	return Encode(out)
}

// schemaTypes are types whose JSON differs from what their Go kind suggests.
var schemaTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[sessions.Time]():   {Type: "string", Format: "date-time"},
}

func schemaFor[In any]() (json.RawMessage, error) {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: schemaTypes})
	if err != nil {
		return nil, err
	}
	if schema.Type != "object" {
		return nil, errors.New("the type is no JSON object")
	}
	return json.Marshal(schema)
}

// misfit tells the model of arguments that the schema allows and the Go type
// does not hold, such as 1e30 for an int64.
func misfit(err error) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && kind.Field != "" {
		at := "/" + strings.ReplaceAll(kind.Field, ".", "/")
		return (&badArgs{at, fmt.Sprintf("does not fit into the Go type %s", kind.Type)}).failure()
	}
	return err
}

// Encode writes an output as JSON the way models read it best: with < > & as
// they are.
func Encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
