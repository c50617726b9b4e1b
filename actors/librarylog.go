package actors

import (
	"context"
	"fmt"
	"log/slog"
)

// libraryLog passes on what the actor library logs, without what its messages
// hold: a dead letter may be a prompt, and content is never logged.
type libraryLog struct{ to slog.Handler }

// Enabled reports whether the handler behind takes the level.
func (l libraryLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.to.Enabled(ctx, level)
}

// Handle passes a record on with the types of its values in place of the values.
func (l libraryLog) Handle(ctx context.Context, record slog.Record) error {
	named := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.Attrs(func(a slog.Attr) bool {
		named.AddAttrs(withoutContent(a))
		return true
	})
	return l.to.Handle(ctx, named)
}

// WithAttrs returns a handler whose records begin with attrs.
func (l libraryLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return libraryLog{l.to.WithAttrs(attrs)}
}

// WithGroup returns a handler whose records are in a group.
func (l libraryLog) WithGroup(name string) slog.Handler { return libraryLog{l.to.WithGroup(name)} }

// withoutContent keeps numbers, texts and addresses of actors, and names the type of
// anything else.
func withoutContent(a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindAny {
		return a
	}
	if pid, ok := a.Value.Any().(*PID); ok && pid != nil {
		return slog.String(a.Key, pid.Id)
	}
	return slog.String(a.Key, fmt.Sprintf("%T", a.Value.Any()))
}
