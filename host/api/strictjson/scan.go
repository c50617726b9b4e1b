package strictjson

import (
	"bytes"

	"agenthost/sessions"
)

// scanner walks a JSON text once, checking its form.
type scanner struct {
	data  []byte
	pos   int
	root  string
	path  []segment
	names [][]byte // of all open objects, as far as nameSet compares them one by one
}

// segment is one step of the path to the current value: a name, or an index
// when name is nil.
type segment struct {
	name  []byte
	index int
}

// fail returns INVALID_REQUEST about the current value.
func (s *scanner) fail(format string, args ...any) *sessions.Error {
	pointer := s.root
	for _, step := range s.path {
		if step.name == nil {
			pointer = PointerAt(pointer, step.index)
		} else {
			pointer = Pointer(pointer, string(step.name))
		}
	}
	return sessions.InvalidField(pointer, format, args...)
}

// peek returns the next byte, 0 at the end: no valid text has a 0 there.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// null skips a null, if one is next.
func (s *scanner) null() bool {
	if bytes.HasPrefix(s.data[s.pos:], []byte("null")) {
		s.pos += 4
		return true
	}
	return false
}

// expect refuses a next value that does not begin with first. what names the
// wanted type at the start of a sentence.
func (s *scanner) expect(first byte, what string) error {
	if s.peek() == first {
		return nil
	}
	if found := s.kind(); found != "" {
		return s.fail("%s was expected, not %s.", what, found)
	}
	return s.noValue()
}

func (s *scanner) noValue() error {
	if s.pos >= len(s.data) {
		return s.fail("The JSON text ends before its value does.")
	}
	return s.fail("No JSON value begins at byte %d.", s.pos)
}

// kind names the type of the next value, "" when there is none.
func (s *scanner) kind() string {
	switch c := s.peek(); {
	case c == '{':
		return "an object"
	case c == '[':
		return "a list"
	case c == '"':
		return "a string"
	case c == '-' || c >= '0' && c <= '9':
		return "a number"
	case c == 't' || c == 'f':
		return "a boolean"
	case c == 'n':
		return "null"
	}
	return ""
}

// raw checks the next value and returns its text.
func (s *scanner) raw() ([]byte, error) {
	start := s.pos
	err := s.skip()
	return s.data[start:s.pos], err
}

// skip checks the next value.
func (s *scanner) skip() error {
	switch c := s.peek(); {
	case c == '{':
		return s.object(func([]byte) error { return s.skip() })
	case c == '[':
		return s.list(func(int) error { return s.skip() })
	case c == '"':
		_, _, err := s.token()
		return err
	case c == '-' || c >= '0' && c <= '9':
		_, err := s.number()
		return err
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.noValue()
}

// object walks the object that is next; visit reads the value of each name.
func (s *scanner) object(visit func(name []byte) error) error {
	seen := nameSet{base: len(s.names)}
	err := s.items('}', func(int) error {
		if s.peek() != '"' {
			return s.fail("A field's name was expected at byte %d.", s.pos)
		}
		name, err := s.str()
		if err != nil {
			return err
		}
		s.path = append(s.path, segment{name: name})
		if !seen.add(s, name) {
			return s.fail("The field is given twice.")
		}
		if s.space(); s.peek() != ':' {
			return s.fail("A colon was expected at byte %d.", s.pos)
		}
		s.pos++
		s.space()
		if err := visit(name); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		return nil
	})
	s.names = s.names[:seen.base]
	return err
}

// list walks the list that is next; visit reads each element.
func (s *scanner) list(visit func(i int) error) error {
	return s.items(']', func(i int) error {
		s.path = append(s.path, segment{index: i})
		if err := visit(i); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		return nil
	})
}

// items walks what stands between brackets, separated by commas. On an error
// the path is left where the fault is.
func (s *scanner) items(closing byte, item func(i int) error) error {
	if len(s.path) >= MaxDepth {
		return s.fail("The value is nested deeper than %d levels.", MaxDepth)
	}
	s.pos++
	if s.space(); s.peek() == closing {
		s.pos++
		return nil
	}
	for i := 0; ; i++ {
		if err := item(i); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case closing:
			s.pos++
			return nil
		case ',':
			s.pos++
			s.space()
		default:
			return s.fail("A comma or the end of the value was expected at byte %d.", s.pos)
		}
	}
}

// nameSet knows the names of one object. Few names are compared one by one,
// many are kept in a map, so that time stays linear.
type nameSet struct {
	base int // where the object's names begin in scanner.names
	many map[string]struct{}
}

const fewNames = 16

// add reports whether name is new.
func (n *nameSet) add(s *scanner, name []byte) bool {
	if n.many != nil {
		before := len(n.many)
		n.many[string(name)] = struct{}{}
		return len(n.many) > before
	}
	mine := s.names[n.base:]
	for _, other := range mine {
		if bytes.Equal(other, name) {
			return false
		}
	}
	if len(mine) < fewNames {
		s.names = append(s.names, name)
		return true
	}
	n.many = map[string]struct{}{string(name): {}}
	for _, other := range mine {
		n.many[string(other)] = struct{}{}
	}
	return true
}
