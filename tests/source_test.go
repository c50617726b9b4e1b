package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the module's path, the prefix of every import of its own.
const module = "agenthost"

// sourceFile is one Go file of the module.
type sourceFile struct {
	name   string // from the module's root, with slashes
	dir    string // its package's folder, "." for the root
	test   bool
	lines  int
	syntax *ast.File
}

// imports lists the paths the file imports.
func (f sourceFile) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// readSource parses every Go file of the module, whatever its build tags, that
// the go command would consider.
func readSource(t *testing.T) []sourceFile {
	t.Helper()
	root := ".."
	var files []sourceFile
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(root, name, entry.Name())
		}
		if strings.HasSuffix(name, ".go") {
			files = append(files, parseFile(t, root, name))
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func skipFolder(root, name, base string) error {
	hidden := strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
	if name != root && (hidden || base == "testdata" || base == "vendor" || base == "bin") {
		return fs.SkipDir
	}
	return nil
}

func parseFile(t *testing.T, root, name string) sourceFile {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	syntax, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	require.NoError(t, err)
	relative, err := filepath.Rel(root, name)
	require.NoError(t, err)
	slashed := filepath.ToSlash(relative)
	return sourceFile{
		name:   slashed,
		dir:    path.Dir(slashed),
		test:   strings.HasSuffix(slashed, "_test.go"),
		lines:  strings.Count(string(text), "\n"),
		syntax: syntax,
	}
}
