// Package scripted is an oracle that plays a script, for tests and demos: what
// a model would say, when, and how it would fail.
//
// A script has rules and steps. A rule is for the turns whose user message it
// matches; it is stateless, since the step it plays is found in the history,
// and so survives restarts and serves many sessions at once. Steps are played
// one a call, in the order of the calls, whoever makes them.
//
// The package also has Strict, which watches over what a host sends to an
// oracle. Everything here is safe for concurrent use.
package scripted
