package config

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// defaultFile is read from the working directory when it is there.
const defaultFile = "agenthost.yaml"

// readFile reads the file layer. A file that was asked for must exist; the
// default one need not. It returns the name of the file that was read.
func readFile(asked string) (*layer, string, error) {
	name := asked
	if name == "" {
		name = defaultFile
	}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && asked == "":
		return newLayer(SourceFile), "", nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", problem(name, "the configuration file does not exist.").Because(err)
	case err != nil:
		return nil, "", problem(name, "the configuration file cannot be read.").Because(err)
	}
	l, err := parseFile(name, text)
	return l, name, err
}

func parseFile(name string, text []byte) (*layer, error) {
	l := newLayer(SourceFile)
	var root any
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, problem(name, "the file is no valid YAML: %s", yaml.FormatError(err, false, false)).Because(err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, problem(name, "the file must hold one YAML document, not several.")
	}
	top, err := mapping(name, "the file", root)
	if err != nil {
		return nil, err
	}
	return l, l.addTop(name, top)
}

func (l *layer) addTop(file string, top map[string]any) error {
	for _, field := range slices.Sorted(maps.Keys(top)) {
		var err error
		switch field {
		case sectionLimits, sectionREPL, sectionRetention, sectionTLS, sectionTracing:
			err = l.addFields(file, key{section: field}, top[field])
		case sectionOracles, sectionProfiles, sectionRemotes, sectionMCP:
			err = l.addNamed(file, field, top[field])
		default:
			err = l.addYAML(file, key{field: field}, top[field])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *layer) addNamed(file, section string, raw any) error {
	entries, err := mapping(file, section, raw)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if err := l.addName(section, name, file); err != nil {
			return err
		}
		if err := l.addFields(file, key{section: section, name: name}, entries[name]); err != nil {
			return err
		}
	}
	return nil
}

// addFields adds the fields of a mapping that is no list of names. One within a
// profile begins with the group in the field of at.
func (l *layer) addFields(file string, at key, raw any) error {
	fields, err := mapping(file, at.String(), raw)
	if err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if group, _, dotted := strings.Cut(field, "."); dotted && isGroup(at.section, group) {
			return problem(file, "%s.%s must be written as a mapping below %s.", at, field, group)
		}
		k := at
		add := l.addYAML
		if at.field != "" {
			k.field += "." + field
		} else if k.field = field; isGroup(at.section, field) {
			add = l.addFields
		}
		if err := add(file, k, fields[field]); err != nil {
			return err
		}
	}
	return nil
}

func (l *layer) addYAML(file string, k key, raw any) error {
	return l.add(k, file, func(f form) (any, string) { return f.fromYAML(raw) })
}

// mapping takes raw as a mapping. Nothing at all is an empty one, as in a file
// that has only a section's name.
func mapping(file, what string, raw any) (map[string]any, error) {
	switch m := raw.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return m, nil
	default:
		return nil, problem(file, "%s must be a mapping of names to values.", what)
	}
}
