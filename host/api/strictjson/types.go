package strictjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// form says how a type is read when its kind does not tell.
type form int

const (
	formPlain form = iota
	formRaw
	formNullable
	formOneOrMany
	formUnmarshaler
)

// typeInfo is what the decoder needs to know of a type.
type typeInfo struct {
	form   form
	fields map[string]field // of a plain struct, by exact name
}

// field is a field of a struct, perhaps of one embedded in it.
type field struct {
	index    []int
	form     form
	nonempty bool
}

var (
	infos sync.Map // reflect.Type to typeInfo

	rawType         = reflect.TypeFor[json.RawMessage]()
	nullableType    = reflect.TypeFor[nullable]()
	oneOrManyType   = reflect.TypeFor[oneOrMany]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

func infoOf(t reflect.Type) typeInfo {
	if cached, ok := infos.Load(t); ok {
		return cached.(typeInfo)
	}
	info := typeInfo{form: formOf(t)}
	if info.form == formPlain && t.Kind() == reflect.Struct {
		info.fields = map[string]field{}
		addFields(info.fields, t, nil)
	}
	infos.Store(t, info)
	return info
}

func formOf(t reflect.Type) form {
	p := reflect.PointerTo(t)
	switch {
	case t == rawType:
		return formRaw
	case p.Implements(nullableType):
		return formNullable
	case p.Implements(oneOrManyType):
		return formOneOrMany
	case p.Implements(unmarshalerType):
		return formUnmarshaler
	}
	return formPlain
}

// addFields adds the fields of struct t, reached through parent, and flattens
// embedded structs as encoding/json does.
func addFields(fields map[string]field, t reflect.Type, parent []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), parent...), i)
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			addFields(fields, f.Type, index)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields[name] = field{index, formOf(f.Type), f.Tag.Get("strict") == "nonempty"}
	}
}
