package strictjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"

	"agenthost/sessions"
)

// MaxDepth is how deep objects and lists may be nested.
const MaxDepth = 128

// What a value may hold is bounded by its text, because an element in memory
// can be far larger than the shortest text for it, such as "{}".
const (
	bytesPerItem = 16       // of text, for each list element or map entry
	freeItems    = 1_024    // beyond those that the text pays for
	maxAnyBytes  = 64 << 10 // of text, for a value of any type
)

// Decode reads data, exactly one JSON value, into what into points at, which
// should be a zero value. root is the JSON pointer of that value in the
// request; errors are INVALID_REQUEST with the pointer of the place below it.
// After an error, what was read before it may have been stored.
//
// The types understood are structs with json tags, maps with string keys,
// slices, pointers, strings, signed integers, float64, booleans, any, Nullable,
// OneOrMany, json.RawMessage, and types with an UnmarshalJSON of their own. A
// RawMessage is a copy of the text, byte for byte, checked like the rest. A
// field or map entry that is null counts as absent, unless it is a Nullable. A
// string field tagged `strict:"nonempty"` must not be "".
func Decode(data []byte, root string, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return sessions.Errorf(sessions.CodeInternal, "A strict decode needs a pointer to decode into.")
	}
	d := decoder{scanner: scanner{data: data, root: root}, room: freeItems + len(data)/bytesPerItem}
	d.space()
	if err := d.value(v.Elem()); err != nil {
		return err
	}
	d.space()
	if d.pos != len(d.data) {
		return d.fail("There must be one JSON value and nothing after it; more follows at byte %d.", d.pos)
	}
	return nil
}

// decoder fills Go values from a scanner.
type decoder struct {
	scanner
	room int // list elements and map entries that may still come
}

// item counts one more list element or map entry.
func (d *decoder) item() error {
	if d.room--; d.room < 0 {
		return d.fail("There are too many elements here for so little text.")
	}
	return nil
}

// value reads the next value into v, which is addressable.
func (d *decoder) value(v reflect.Value) error {
	info := infoOf(v.Type())
	switch info.form {
	case formRaw:
		raw, err := d.raw()
		v.SetBytes(bytes.Clone(raw))
		return err
	case formNullable:
		return d.nullable(v.Addr().Interface().(nullable))
	case formOneOrMany:
		return d.oneOrMany(v.Addr().Interface().(oneOrMany))
	case formUnmarshaler:
		return d.unmarshaler(v.Addr().Interface().(json.Unmarshaler))
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(v.Elem())
	case reflect.Struct:
		return d.fields(v, info.fields)
	case reflect.Map:
		return d.entries(v)
	case reflect.Slice:
		return d.elements(v)
	case reflect.String:
		return d.text(v)
	case reflect.Bool:
		return d.boolean(v)
	case reflect.Int, reflect.Int64:
		return d.integer(v)
	case reflect.Float64:
		return d.float(v)
	case reflect.Interface:
		return d.anything(v)
	default:
		return sessions.Errorf(sessions.CodeInternal, "The host met a fault of its own; its log has the rest.").
			Because(&unsupportedError{v.Type()})
	}
}

// unsupportedError is a programming error: a type that Decode does not read.
type unsupportedError struct{ typ reflect.Type }

// Error names the type.
func (e *unsupportedError) Error() string { return "strictjson does not read " + e.typ.String() }

func (d *decoder) fields(v reflect.Value, fields map[string]field) error {
	if err := d.expect('{', "An object"); err != nil {
		return err
	}
	return d.object(func(name []byte) error {
		f, ok := fields[string(name)]
		if !ok {
			return d.fail("There is no such field here.")
		}
		target := v.FieldByIndex(f.index)
		if f.form != formNullable && d.null() {
			return nil
		}
		if err := d.value(target); err != nil {
			return err
		}
		if f.nonempty && target.Len() == 0 {
			return d.fail("The value must not be empty; leave the field out instead.")
		}
		return nil
	})
}

func (d *decoder) entries(v reflect.Value) error {
	if err := d.expect('{', "An object"); err != nil {
		return err
	}
	typ := v.Type()
	v.Set(reflect.MakeMap(typ))
	return d.object(func(name []byte) error {
		if d.null() {
			return nil
		}
		if err := d.item(); err != nil {
			return err
		}
		entry := reflect.New(typ.Elem()).Elem()
		if err := d.value(entry); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(string(name)).Convert(typ.Key()), entry)
		return nil
	})
}

func (d *decoder) elements(v reflect.Value) error {
	if err := d.expect('[', "A list"); err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	return d.list(func(i int) error {
		if d.null() {
			return d.fail("A list has no null elements.")
		}
		if err := d.item(); err != nil {
			return err
		}
		v.Grow(1)
		v.SetLen(i + 1)
		v.Index(i).SetZero()
		return d.value(v.Index(i))
	})
}

func (d *decoder) text(v reflect.Value) error {
	if err := d.expect('"', "A string"); err != nil {
		return err
	}
	s, err := d.str()
	v.SetString(string(s))
	return err
}

func (d *decoder) boolean(v reflect.Value) error {
	switch d.peek() {
	case 't':
		v.SetBool(true)
		return d.literal("true")
	case 'f':
		return d.literal("false")
	default:
		return d.expect('t', "A boolean")
	}
}

func (d *decoder) integer(v reflect.Value) error {
	if c := d.peek(); c != '-' && (c < '0' || c > '9') {
		return d.expect('0', "An integer")
	}
	token, err := d.number()
	if err != nil {
		return err
	}
	if bytes.ContainsAny(token, ".eE") {
		return d.fail("An integer was expected, written without a fraction or an exponent.")
	}
	n, err := strconv.ParseInt(string(token), 10, v.Type().Bits())
	if err != nil {
		return d.fail("The integer does not fit into %d bits.", v.Type().Bits())
	}
	v.SetInt(n)
	return nil
}

// float reads a number that may have a fraction. One beyond what 64 bits hold is
// refused; one that they hold less exactly is rounded.
func (d *decoder) float(v reflect.Value) error {
	if c := d.peek(); c != '-' && (c < '0' || c > '9') {
		return d.expect('0', "A number")
	}
	token, err := d.number()
	if err != nil {
		return err
	}
	x, err := strconv.ParseFloat(string(token), 64)
	if err != nil {
		return d.fail("The number does not fit into 64 bits.")
	}
	v.SetFloat(x)
	return nil
}

// anything reads a value of any type; its numbers stay as they are written.
func (d *decoder) anything(v reflect.Value) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	if len(raw) > maxAnyBytes {
		return d.fail("The value has %d bytes, more than the %d allowed here.", len(raw), maxAnyBytes)
	}
	plain := json.NewDecoder(bytes.NewReader(raw))
	plain.UseNumber()
	if err := plain.Decode(v.Addr().Interface()); err != nil {
		return d.fail("The value cannot be read.").Because(err)
	}
	return nil
}

func (d *decoder) nullable(n nullable) error {
	if d.null() {
		n.setNull()
		return nil
	}
	return d.value(reflect.ValueOf(n.setValue()).Elem())
}

func (d *decoder) oneOrMany(m oneOrMany) error {
	if d.peek() != '[' {
		return d.value(reflect.ValueOf(m.grow()).Elem())
	}
	count := 0
	err := d.list(func(int) error {
		if d.null() {
			return d.fail("A list has no null elements.")
		}
		if err := d.item(); err != nil {
			return err
		}
		count++
		return d.value(reflect.ValueOf(m.grow()).Elem())
	})
	if err == nil && count == 0 {
		return d.fail("The list must not be empty; leave the field out instead.")
	}
	return err
}

func (d *decoder) unmarshaler(u json.Unmarshaler) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	if err := u.UnmarshalJSON(raw); err != nil {
		return d.fail("The value does not have the form it needs.").Because(err)
	}
	return nil
}
