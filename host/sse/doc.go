// Package sse writes streams of server-sent events to readers who may be slow or
// gone. What the events mean is its users' affair.
package sse
