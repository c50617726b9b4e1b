// Package search looks for texts in files of any kind and size, in each of the
// forms in which a store may have written them down.
//
// It does not know what the files are. Whoever searches a database that is open
// does so in a process of its own: closing a file drops the locks that the
// process holds on it.
//
// Concurrency: its functions keep nothing between calls.
package search
