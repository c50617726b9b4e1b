// Package anthropic is an oracle that speaks the Messages API, streaming, to
// Anthropic or to any server with a compatible base URL.
//
// It owns the mapping of a history to a request, with the places where the
// provider's cache may end a prefix, and the mapping of a stream to parts; tries
// and failures are those of every provider. The same history makes the same
// request bytes. An Oracle keeps nothing of a conversation and is safe for
// concurrent use.
//
// A history holds no thoughts of a model: they are neither kept nor sent back.
package anthropic
