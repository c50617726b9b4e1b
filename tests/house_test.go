package tests

import (
	"go/ast"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxLines is the most a Go file has without a reason in longFiles.
const maxLines = 400

// longFiles are the files that may be longer, each with its reason.
var longFiles = map[string]string{}

func TestFilesStayShort(t *testing.T) {
	long := map[string]bool{}
	for _, file := range readSource(t) {
		if file.lines <= maxLines || ast.IsGenerated(file.syntax) {
			continue
		}
		long[file.name] = true
		if longFiles[file.name] == "" {
			t.Errorf("%s has %d lines, the most is %d: split it by concept, or give longFiles a reason", file.name, file.lines, maxLines)
		}
	}
	for name := range longFiles {
		require.True(t, long[name], "%s is not a long file any more: take it out of longFiles", name)
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	comments := map[string][]string{}
	for _, file := range readSource(t) {
		if _, seen := comments[file.dir]; !seen {
			comments[file.dir] = nil
		}
		if !file.test && file.syntax.Doc != nil {
			comments[file.dir] = append(comments[file.dir], file.name)
		}
	}
	for dir, files := range comments {
		if len(files) != 1 {
			t.Errorf("%s: want one file with the package comment, best doc.go; have %v", dir, files)
		}
	}
}
