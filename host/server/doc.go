// Package server is the doors of the host: the `$` protocol over WebSocket,
// over HTTP with and without an event stream, and the health checks.
//
// It owns transport: reading and bounding requests, their order, replies,
// statuses, pings and the end of connections. It knows no operation but those
// that live on a connection ($subscribe, $unsubscribe); everything else is
// handed to a Service. It keeps nothing beyond a connection: a lost one ends
// its replies and subscriptions and cancels nothing.
//
// Who runs where: an HTTP request is one goroutine, an event stream has a
// second one for its comments. A WebSocket has one that reads, one that writes,
// one that pings, and one for each request, which for $subscribe lives as long
// as the subscription. Only the writer writes messages, from one queue, so what
// a request's goroutine queues first arrives first. A full queue makes the
// goroutines of that connection wait, and nobody else's.
//
// A Server is safe for concurrent use. Every goroutine it starts has ended when
// Shutdown returns.
package server
