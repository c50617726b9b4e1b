// Package telemetry counts what a host does, for Prometheus.
//
// A Metrics is the observer of a store, a host and its doors, and the handler that
// shows what it has counted. All its metrics are in one table, which the
// documentation is made from. A label's values come from a closed set, or from names
// that the configuration gives, and of those there are at most so many: who
// scrapes a host never gets a series for each session, caller or text.
package telemetry
