package config

import (
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/v2"

	"agenthost/sessions"
)

// Options say where to look. The zero value reads the process's environment
// and, if it is there, agenthost.yaml in the working directory.
type Options struct {
	File  string   // must exist; "" means AGENTHOST_CONFIG, else agenthost.yaml if it exists
	Env   []string // NAME=value as in os.Environ; nil means os.Environ()
	Flags []Flag   // a later one wins
}

// Flag is a setting given on the command line.
type Flag struct {
	Name  string // as the user wrote it, such as --db; for messages
	Key   string // the setting, such as store or profiles.default.system
	Value string // a list is separated by commas
}

// Load reads, merges and checks the configuration, and reads the secrets it
// refers to. Errors are INVALID_REQUEST; their message names the file, variable
// or flag, and the key.
func Load(o Options) (*Config, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	env := newEnvironment(o.Env)
	if o.File == "" {
		o.File = env[envFile]
	}
	file, name, err := readFile(o.File)
	if err != nil {
		return nil, err
	}
	variables, err := readEnvironment(env, file)
	if err != nil {
		return nil, err
	}
	flags, err := readFlags(o.Flags)
	if err != nil {
		return nil, err
	}
	above := layers{file, variables, flags}
	below, picked, err := readDefaults(env, above)
	if err != nil {
		return nil, err
	}
	c := &Config{File: name, Picked: picked}
	if err := c.merge(slices.Concat(below, above)); err != nil {
		return nil, err
	}
	if err := c.resolve(env); err != nil {
		return nil, err
	}
	return c, nil
}

func readFlags(flags []Flag) (*layer, error) {
	l := newLayer(SourceFlag)
	for _, flag := range flags {
		read := func(f form) (any, string) { return f.fromText(flag.Value) }
		if err := l.add(parseKey(flag.Key), flag.Name, read); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// merge fills the fields from the layers.
func (c *Config) merge(all layers) error {
	k := koanf.New(delimiter)
	for _, l := range all {
		if err := k.Load(l, nil); err != nil {
			return sessions.AsError(err)
		}
	}
	if err := k.Unmarshal("", c); err != nil {
		return sessions.AsError(err)
	}
	if !strings.HasPrefix(c.Store, schemeSQLite+":") {
		c.Store = schemeSQLite + ":" + c.Store
	}
	c.values = all.list()
	return nil
}

// list returns the values in effect, in the order of the settings, with each
// oracle and profile in one piece.
func (ls layers) list() []Value {
	var list []Value
	add := func(k key) {
		if v, source, ok := ls.get(k); ok {
			list = append(list, Value{Key: k.String(), Value: v.value, Source: source, Origin: v.origin})
		}
	}
	for _, field := range fieldsOf("") {
		inner := fieldsOf(field)
		switch {
		case named(field):
			for _, name := range ls.names(field) {
				for _, of := range inner {
					add(key{field, name, of})
				}
			}
		case len(inner) > 0: // a section
			for _, of := range inner {
				add(key{section: field, field: of})
			}
		default:
			add(key{field: field})
		}
	}
	return list
}
