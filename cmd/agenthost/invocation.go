package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// invocation returns what to type to start this program again, the way it was
// started.
func (a *app) invocation() string {
	program, err := os.Executable()
	if err != nil {
		return shellQuote(a.name)
	}
	if builtByGoRun(program) {
		return "go run ./cmd/agenthost"
	}
	if found, err := exec.LookPath("agenthost"); err == nil && sameFile(found, program) {
		return "agenthost"
	}
	if strings.ContainsRune(a.name, filepath.Separator) {
		return shellQuote(a.name)
	}
	return shellQuote(program)
}

// cachedBuild is the folder in which the build cache keeps a program.
var cachedBuild = regexp.MustCompile(`^[0-9a-f]{64}-d$`)

// builtByGoRun reports whether the program lies where only "go run" puts one:
// in a temporary build folder, or in the build cache.
func builtByGoRun(program string) bool {
	folder := filepath.Dir(program)
	return cachedBuild.MatchString(filepath.Base(folder)) ||
		strings.Contains(program, string(filepath.Separator)+"go-build")
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
