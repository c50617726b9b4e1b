// Package requestlog keeps what was asked of an oracle or of a model's server,
// for tests that look at the requests or wait for them.
package requestlog
