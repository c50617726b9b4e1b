package main

import (
	"fmt"
	"os"
	"strings"
)

// What lies between these lines of the document is the program's.
const (
	beginMark = "<!-- measured: begin -->"
	endMark   = "<!-- measured: end -->"
)

// refresh puts a new table into the document and leaves its text alone.
func refresh(doc, facts string, t table) error {
	text, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), beginMark)
	_, after, ended := strings.Cut(rest, endMark)
	if !found || !ended {
		return fmt.Errorf("%s has no place for the table: it needs the lines %q and %q", doc, beginMark, endMark)
	}
	fresh := before + beginMark + "\n" + facts + "\n\n" + t.markdown() + endMark + after
	return os.WriteFile(doc, []byte(fresh), 0o644)
}
