// Package offline is an oracle that needs no network and no key: it answers
// from the conversation itself, the same answer for the same input.
//
// It can recall, count and list what was said, and it runs tools when a user's
// message tells it to, by lines such as
//
//	/call builtin/time {}
//
// so that every path of the host can be tried without a model. It keeps no
// state; one Oracle may serve every session at once.
package offline
