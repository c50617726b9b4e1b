package strictjson

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"unicode/utf16"
	"unicode/utf8"
)

// literal reads the word, whose first byte is next.
func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.fail("No JSON value begins at byte %d.", s.pos)
	}
	s.pos += len(word)
	return nil
}

// number reads the number that is next and returns its text.
func (s *scanner) number() ([]byte, error) {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if s.digits() == 0 {
		return nil, s.badNumber()
	}
	if s.peek() == '.' {
		s.pos++
		if s.digits() == 0 {
			return nil, s.badNumber()
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if s.digits() == 0 {
			return nil, s.badNumber()
		}
	}
	return s.data[start:s.pos], nil
}

func (s *scanner) badNumber() error {
	return s.fail("The number is not complete; a digit was expected at byte %d.", s.pos)
}

// digits skips digits and returns how many there were.
func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// str reads the string that is next and returns its value, which may be a part
// of the text.
func (s *scanner) str() ([]byte, error) {
	raw, escaped, err := s.token()
	if err != nil || !escaped {
		return raw, err
	}
	return unescape(raw), nil
}

// token reads the string that is next and returns what stands between its
// quotes, and whether that has escapes.
func (s *scanner) token() (raw []byte, escaped bool, err error) {
	start, ascii := s.pos+1, true
	for i := start; i < len(s.data); {
		switch c := s.data[i]; {
		case c == '"':
			s.pos = i + 1
			raw = s.data[start:i]
			if !ascii && !utf8.Valid(raw) {
				return nil, false, s.fail("The string at byte %d is not valid UTF-8.", start-1)
			}
			return raw, escaped, nil
		case c == '\\':
			n, fault := escapeLen(s.data[i:])
			if fault != "" {
				return nil, false, s.fail("%s at byte %d.", fault, i)
			}
			escaped = true
			i += n
		case c < ' ':
			return nil, false, s.fail("A string has an unescaped control character at byte %d.", i)
		default:
			ascii = ascii && c < utf8.RuneSelf
			i++
		}
	}
	s.pos = len(s.data)
	return nil, false, s.fail("The JSON text ends inside a string.")
}

// escapeLen returns how many bytes the escape at the start of b takes, or what
// is wrong with it.
func escapeLen(b []byte) (n int, fault string) {
	if len(b) < 2 || b[1] != 'u' {
		if len(b) < 2 || bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) < 0 {
			return 0, "A string has an unknown escape"
		}
		return 2, ""
	}
	r, ok := hexRune(b)
	switch {
	case !ok:
		return 0, "A string has an incomplete \\u escape"
	case !utf16.IsSurrogate(r):
		return 6, ""
	}
	if low, ok := hexRune(b[6:]); !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		return 0, "A string has half a surrogate pair"
	}
	return 12, ""
}

// hexRune reads the \u escape at the start of b.
func hexRune(b []byte) (rune, bool) {
	var code [2]byte
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	if _, err := hex.Decode(code[:], b[2:6]); err != nil {
		return 0, false
	}
	return rune(binary.BigEndian.Uint16(code[:])), true
}

// unescape returns the value of a string's text, which token has checked.
func unescape(raw []byte) []byte {
	value := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		plain := bytes.IndexByte(raw, '\\')
		if plain < 0 {
			return append(value, raw...)
		}
		value, raw = append(value, raw[:plain]...), raw[plain:]
		n, _ := escapeLen(raw)
		value = appendEscape(value, raw[:n])
		raw = raw[n:]
	}
	return value
}

func appendEscape(value, escape []byte) []byte {
	switch escape[1] {
	case 'b':
		return append(value, '\b')
	case 'f':
		return append(value, '\f')
	case 'n':
		return append(value, '\n')
	case 'r':
		return append(value, '\r')
	case 't':
		return append(value, '\t')
	case 'u':
		r, _ := hexRune(escape)
		if len(escape) == 12 {
			low, _ := hexRune(escape[6:])
			r = utf16.DecodeRune(r, low)
		}
		return utf8.AppendRune(value, r)
	default:
		return append(value, escape[1])
	}
}
