// Package provider is what the adapters of models behind an API have in common:
// the tries of a call, the answer put together from a stream, the failure that
// the caller learns of, and the forms that histories and schemas take on a wire.
//
// An adapter adds its provider's wire format and its SDK. Whatever goes wrong
// has the same outcome with every adapter, because it is decided here.
package provider
