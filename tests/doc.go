// Package tests holds the tests of the system as a whole: which package may
// import which, how the source is kept, protocol transcripts, crashes and
// races. Nothing imports it, and it holds no code but tests.
package tests
