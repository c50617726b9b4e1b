// Package adaptertest is what every adapter of a model behind an API must do,
// whatever its wire format: which failures are tried again and how often, what
// ends a call and its connection, and what is made of bytes that come in pieces
// and of ids that are missing.
//
// An adapter's tests describe it by an Adapter, run that, and add what is special
// about their format. The other helpers here are for those.
package adaptertest
