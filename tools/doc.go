// Package tools is the tool tree: what can be called, at which path, by whom.
//
// It owns paths and their matching, the names models know tools by, the
// schemas arguments are checked against, and the tree of mounts. It does not
// run tools concurrently, time them or isolate their faults: that is the work
// of the tool actors. A Tree is safe for concurrent use.
package tools
