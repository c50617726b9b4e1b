package sessions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// constantsOf returns the values of the string constants of a type declared in
// a file of the package, by their names. Tests compare lists with it, so that a
// new constant fails them until it is in the list.
func constantsOf(t *testing.T, file, typeName string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	found := map[string]string{}
	for _, decl := range parsed.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if kind, ok := value.Type.(*ast.Ident); !ok || kind.Name != typeName {
				continue
			}
			for i, name := range value.Names {
				text, err := strconv.Unquote(value.Values[i].(*ast.BasicLit).Value)
				require.NoError(t, err)
				found[name.Name] = text
			}
		}
	}
	require.NotEmpty(t, found, "%s declares no constants of type %s", file, typeName)
	return found
}

// methodsOf returns the receivers of the method with a name in a file.
func methodsOf(t *testing.T, file, method string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	var receivers []string
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Recv != nil && f.Name.Name == method {
			receivers = append(receivers, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	return receivers
}
