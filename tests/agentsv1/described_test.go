package agentsv1

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// descriptionFile is what the host says of itself.
const descriptionFile = "../../host/agentsv1/openapi.yaml"

// described is the description of the API, ready to judge by. kin-openapi reads it
// and judges parameters. It would compile the schema of a body anew for each body, and
// go back to the rules of OpenAPI 3.0 where it cannot, so bodies are judged by the
// validator that it has below it, whose schemas are compiled once.
type described struct {
	doc *openapi3.T

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by their place in the file
}

// description reads the file, once for all tests.
var description = sync.OnceValues(func() (*described, error) {
	text, err := os.ReadFile(descriptionFile)
	if err != nil {
		return nil, err
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, err
	}
	text, err = yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	return &described{doc: doc, compiler: compiler, schemas: map[string]*jsonschema.Schema{}}, compiler.AddResource(descriptionFile, value)
})

// judge says what is wrong with a value by the schema at a place of the file, as
// "#/components/schemas/Session".
func (d *described) judge(place string, value any) error {
	if place == "" {
		return fmt.Errorf("the schema has no name")
	}
	d.mu.Lock()
	schema, ok := d.schemas[place]
	if !ok {
		var err error
		if schema, err = d.compiler.Compile(descriptionFile + place); err != nil {
			d.mu.Unlock()
			return err
		}
		d.schemas[place] = schema
	}
	d.mu.Unlock()
	return schema.Validate(value)
}

// judgeJSON does so with a text.
func (d *described) judgeJSON(place string, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return d.judge(place, value)
}

// judgeEvent judges an event by the schema of its type.
func (d *described) judgeEvent(place string, text []byte) (kind string, err error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	members, _ := value.(map[string]any)
	kind, _ = members["type"].(string)
	union := d.doc.Components.Schemas[strings.TrimPrefix(place, "#/components/schemas/")].Value
	one, ok := union.Discriminator.Mapping[kind]
	if !ok {
		return kind, fmt.Errorf("the type %q is not described", kind)
	}
	return kind, d.judge(one.Ref, value)
}

// operation is an operation of the file, with what a path names for it.
type operation struct {
	*openapi3.Operation
	route routers.Route
	names map[string]string
}

// operation finds what a request asks for; nil when that is not described.
func (d *described) operation(r *http.Request) *operation {
	parts := strings.Split(r.URL.EscapedPath(), "/")
	var found *operation
	for path, item := range d.doc.Paths.Map() {
		names, ok := matchPath(strings.Split(path, "/"), parts)
		if ok && (found == nil || len(names) < len(found.names)) {
			found = &operation{item.GetOperation(r.Method), routers.Route{Spec: d.doc, Path: path, PathItem: item, Method: r.Method}, names}
		}
	}
	if found == nil || found.Operation == nil {
		return nil
	}
	found.route.Operation = found.Operation
	return found
}

func matchPath(pattern, parts []string) (names map[string]string, ok bool) {
	if len(pattern) != len(parts) {
		return nil, false
	}
	names = map[string]string{}
	for i, part := range parts {
		name, err := url.PathUnescape(part)
		switch {
		case err != nil:
			return nil, false
		case strings.HasPrefix(pattern[i], "{"):
			names[strings.Trim(pattern[i], "{}")] = name
		case pattern[i] != name:
			return nil, false
		}
	}
	return names, true
}

// judgeRequest says what is wrong with a request.
func (d *described) judgeRequest(o *operation, r *http.Request, body []byte) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	for name, values := range query {
		bare, _, keyed := strings.Cut(name, "[")
		switch p := o.Parameters.GetByInAndName("query", bare); {
		case p == nil, keyed != (p.Style == openapi3.SerializationDeepObject), keyed && !strings.HasSuffix(name, "]"):
			return fmt.Errorf("the parameter %s is not described", name)
		case len(values) > 1:
			return fmt.Errorf("the parameter %s is given %d times", name, len(values))
		}
	}
	r = r.WithContext(r.Context())
	r.Body = http.NoBody // it was read
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: o.names, Route: &o.route,
		Options: &openapi3filter.Options{ExcludeRequestBody: true, SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
		return err
	}
	switch {
	case o.RequestBody != nil:
		return d.judgeJSON(o.RequestBody.Value.Content["application/json"].Schema.Ref, body)
	case len(body) > 0:
		return fmt.Errorf("a body is not described")
	}
	return nil
}
