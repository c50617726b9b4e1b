package tools

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"agenthost/sessions"
)

// Tree holds what is mounted, each tool at a path of its own. A path may hold a
// tool and have tools below it. The zero Tree is empty and ready for use.
type Tree struct {
	mu         sync.RWMutex
	byPath     map[string]*Mounted
	byFunction map[string]*Mounted
}

// Mounted is a tool at its place. It never changes: what is mounted at the same
// path later is another Mounted, so that the pointers tell them apart.
type Mounted struct {
	Path     string
	Function string // the name models call it by, sessions.FunctionName of Path
	Spec     Spec   // as the tool gave it; Schema is always set
	Tool     Tool

	args *argSchema
}

// CheckArgs returns a *Failure for the model unless raw is one JSON object that
// satisfies the tool's schema, and nil if it is.
func (m *Mounted) CheckArgs(raw []byte) error { return m.args.check(raw) }

// Mount puts tool at path. It is CONFLICT when the path is taken, or when a
// tool elsewhere has the same function name, and INVALID_REQUEST when the path
// is none, the tool is nil, or its schema cannot be used: it must be a JSON
// Schema of draft 2020-12 or draft-07 for an object, referring to itself only.
func (t *Tree) Mount(path string, tool Tool) error {
	path, err := ParsePath(path)
	if err != nil {
		return err
	}
	if tool == nil {
		return refuse("There is no tool to mount at %s.", path)
	}
	m := &Mounted{Path: path, Function: sessions.FunctionName(path), Spec: tool.Spec(), Tool: tool}
	if m.args, err = newArgSchema(m.Spec.Schema); err != nil {
		return refuse("The schema of the tool at %s cannot be used: %s", path, messageOf(err)).Because(err)
	}
	m.Spec.Schema = bytes.Clone(m.args.raw)
	return t.add(m)
}

func (t *Tree) add(m *Mounted) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPath[m.Path] != nil {
		return sessions.Errorf(sessions.CodeConflict, "A tool is mounted at %s already; unmount it first.", m.Path)
	}
	if other := t.byFunction[m.Function]; other != nil {
		return sessions.Errorf(sessions.CodeConflict,
			"The tools at %s and %s would both be called %q by a model; choose another path.", m.Path, other.Path, m.Function)
	}
	if t.byPath == nil {
		t.byPath, t.byFunction = map[string]*Mounted{}, map[string]*Mounted{}
	}
	t.byPath[m.Path], t.byFunction[m.Function] = m, m
	return nil
}

// Unmount takes away the tool at path, not those below it, and reports whether
// there was one. Calls that are under way keep their Mounted.
func (t *Tree) Unmount(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.find(path)
	if ok {
		delete(t.byPath, m.Path)
		delete(t.byFunction, m.Function)
	}
	return ok
}

// Lookup returns the tool at path, in any spelling that ParsePath takes.
func (t *Tree) Lookup(path string) (*Mounted, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.find(path)
}

func (t *Tree) find(path string) (*Mounted, bool) {
	path, err := ParsePath(path)
	if err != nil {
		return nil, false
	}
	m, ok := t.byPath[path]
	return m, ok
}

// ByFunction returns the tool that models call by name.
func (t *Tree) ByFunction(name string) (*Mounted, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	m, ok := t.byFunction[name]
	return m, ok
}

// All returns what is mounted now, in the byte order of the paths.
func (t *Tree) All() []*Mounted {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.SortedFunc(maps.Values(t.byPath), byPath)
}

// Visible returns what is mounted now within scope, in the byte order of the
// paths: the tools that a model is shown.
func (t *Tree) Visible(scope Scope) []*Mounted {
	return slices.DeleteFunc(t.All(), func(m *Mounted) bool { return !scope.Allows(m.Path) })
}
