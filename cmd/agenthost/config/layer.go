package config

import (
	"slices"

	"agenthost/sessions"
)

// located is a read value and the place it was written at.
type located struct {
	value  any
	origin string
}

// layer holds what one source says. Later layers win over earlier ones, value
// by value.
type layer struct {
	source Source
	values map[key]located
	names  map[string][]string // of oracles and profiles, by section, in order of appearance
}

func newLayer(source Source) *layer {
	return &layer{source: source, values: map[key]located{}, names: map[string][]string{}}
}

// addName notes that an oracle or a profile exists, even if nothing else is
// said about it.
func (l *layer) addName(section, name, origin string) error {
	if err := sessions.CheckKeyPart("", name); err != nil {
		return problem(origin, "the name %q in %s must be 1 to %d printable bytes.", name, section, sessions.MaxKeyBytes)
	}
	if !slices.Contains(l.names[section], name) {
		l.names[section] = append(l.names[section], name)
	}
	return nil
}

// add reads one value with its setting's form and checks it.
func (l *layer) add(k key, origin string, read func(form) (any, string)) error {
	s, ok := find(k)
	if !ok {
		return unknownKey(k, origin)
	}
	if named(k.section) {
		if err := l.addName(k.section, k.name, origin); err != nil {
			return err
		}
	}
	value, complaint := read(s.form)
	if complaint == "" && s.check != nil {
		complaint = s.check(value)
	}
	if complaint != "" {
		return problem(origin, "%s %s.", k, complaint)
	}
	l.values[k] = located{value, origin}
	return nil
}

// set stores a default, which needs no check.
func (l *layer) set(k key, value any) { l.values[k] = located{value: value} }

// ReadBytes is part of koanf's Provider; a layer has no bytes, so that koanf
// calls Read.
func (l *layer) ReadBytes() ([]byte, error) { return nil, nil }

// Read returns the values as koanf merges them, nested by section and name.
func (l *layer) Read() (map[string]any, error) {
	root := map[string]any{}
	for section, names := range l.names {
		for _, name := range names {
			descend(root, section, name)
		}
	}
	for k, v := range l.values {
		path := k.path()
		last := len(path) - 1
		descend(root, path[:last]...)[path[last]] = v.value
	}
	return root, nil
}

// descend returns the mapping at the path, making those on the way.
func descend(at map[string]any, path ...string) map[string]any {
	for _, part := range path {
		next, ok := at[part].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[part] = next
		}
		at = next
	}
	return at
}

// layers are in rising order of precedence.
type layers []*layer

// get returns the value in effect and its source.
func (ls layers) get(k key) (located, Source, bool) {
	for _, l := range slices.Backward(ls) {
		if v, ok := l.values[k]; ok {
			return v, l.source, true
		}
	}
	return located{}, "", false
}

// names lists the oracles or profiles that any layer mentions, sorted.
func (ls layers) names(section string) []string {
	var names []string
	for _, l := range ls {
		names = append(names, l.names[section]...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
