// Package openai is an oracle that speaks the chat completions wire format,
// streaming, to OpenAI or to any server with a compatible base URL.
//
// It owns the mapping of a history to a request and the mapping of a stream to
// parts; tries and failures are those of every provider. The same history makes
// the same request bytes, so that a provider's cache can serve its prefix. An
// Oracle keeps nothing of a conversation and is safe for concurrent use.
package openai
