// Package api is the wire vocabulary of the `$` protocol: the envelope, the
// typed arguments and results of every operation, the table of operations, and
// the checks that need nothing but the request itself.
//
// The servers decode with it, the typed methods of host.Host take and return
// its values, and the Go client encodes with it, so that all three ways in say
// the same. A request passes through three steps here: DecodeRequest reads the
// envelope, DecodeArgs reads the arguments of its operation strictly, and
// Args.Validate checks addresses, ids, ranges and sizes. What needs a caller, a
// profile or a store is decided by the host, save that Args.Authorize says whether
// the caller may ask for it; whether a busy policy is offered is not known here.
//
// Optional strings, enumerations and booleans have a zero value that means
// absent; optional numbers are pointers; a field whose null means something of
// its own is a Nullable. Sizes are bytes, durations are milliseconds and say so
// in their names. A value over a maximum is refused and never clamped.
//
// Values are plain data without locks: safe for concurrent reading, not to be
// changed after they were handed over. Nothing here does I/O except WriteReply.
package api
