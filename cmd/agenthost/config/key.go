package config

import (
	"slices"
	"strings"
	"unicode"
)

// key names one setting. A setting at the top has a field only, one of the
// limits or of retention a section too, and one of an oracle or a profile also
// that one's name. A field of a group within a profile is written group.field.
type key struct {
	section, name, field string
}

// delimiter separates the parts of a key where they are joined for koanf. A
// dot would not do: it may be part of a profile's name.
const delimiter = "\x1f"

// String joins the parts as people write them.
func (k key) String() string { return strings.Join(k.parts(), ".") }

func (k key) parts() []string {
	var parts []string
	for _, part := range []string{k.section, k.name, k.field} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// path is where the value stands among nested mappings.
func (k key) path() []string {
	parts := k.parts()
	return append(parts[:len(parts)-1], strings.Split(k.field, ".")...)
}

// parseKey reads a dotted key. A name may contain dots, and so may a field that
// is one of a group; sections do not.
func parseKey(text string) key {
	section, rest, ok := strings.Cut(text, ".")
	if !ok {
		return key{field: text}
	}
	last := strings.LastIndexByte(rest, '.')
	if !named(section) || last < 0 {
		return key{section: section, field: rest}
	}
	name, field := rest[:last], rest[last+1:]
	if at := strings.LastIndexByte(name, '.'); at >= 0 && isGroup(section, name[at+1:]) {
		name, field = name[:at], rest[at+1:]
	}
	return key{section: section, name: name, field: field}
}

// isGroup reports whether fields of the section's entries are below this name.
func isGroup(section, field string) bool {
	return slices.ContainsFunc(fieldsOf(section), func(known string) bool { return strings.HasPrefix(known, field+".") })
}

// named reports whether the section's settings have names above them.
func named(section string) bool { return slices.Contains(namedSections, section) }

// environmentName turns a field or a name into its form in the environment:
// idleTTL becomes IDLE_TTL, gpt-4.1 becomes GPT_4_1.
func environmentName(text string) string {
	var b strings.Builder
	small := false
	for _, r := range text {
		if small && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		small = unicode.IsLower(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = '_'
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}
