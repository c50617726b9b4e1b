// Package repl is a tool that runs JavaScript, a cell a call, and keeps between
// calls what the cells have made.
//
// The engine is QuickJS, compiled to WebAssembly, so that three things hold. A
// cell can be ended wherever it is, in the middle of a built-in function too. It
// has the memory that it is given and no other, whatever bugs the engine has,
// and nothing outside: no file, no network, no timer. And all of it lies in one
// piece of memory, which a copy of keeps whole: variables, closures, classes with
// their private parts, generators in the middle of their work, promises.
//
// That copy is the session's state "repl". It is written with the step of the
// turn that the cell belongs to, as what differs from the memory of an engine
// that has run nothing. A cell begins with the state and works on a memory of its
// own, so that one that throws, runs out of time or memory, or is cancelled has
// changed nothing. Between calls nothing is kept in memory but the engine itself.
//
// A state fits the engine that made it: the folder engine holds it, and a host
// with another one says so and lets a cell begin afresh.
package repl
