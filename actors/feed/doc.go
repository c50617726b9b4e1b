// Package feed carries frames from the turns that make them to the readers that
// follow a session.
//
// A frame is published after it is durable. Every subscription is a cursor with
// a bounded buffer: it reads what lies before it from the store, then takes
// what is published, and falls back on the store whenever the two do not meet.
// So a reader sees every numbered frame exactly once and in order, whatever the
// timing of commits, publications and its own reading.
//
// Publish never blocks and never waits for a reader. All methods are safe for
// concurrent use; a Subscription has one reader.
package feed
