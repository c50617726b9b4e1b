package host

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"agenthost/actors"
	"agenthost/sessions"
)

// tracerName is the instrumentation scope of the host's spans.
const tracerName = "agenthost"

// tracePrompt begins the span of a prompt, below the one that ctx has, and lets the
// prompt's turn be part of it. ended is told how the wait for the prompt ended; the
// turn may take longer.
func (a *Access) tracePrompt(ctx context.Context, message *actors.Prompt) (_ context.Context, ended func(error)) {
	if a.host.tracer == nil {
		return ctx, func(error) {}
	}
	ctx, span := a.host.tracer.Start(ctx, "prompt", trace.WithSpanKind(trace.SpanKindServer), //nolint:spancheck // ended ends it
		trace.WithAttributes(attribute.Bool("agenthost.retry", message.Retry != nil)))
	message.Trace = span.SpanContext()
	return ctx, func(err error) { //nolint:spancheck // as above
		switch refusal, is := errors.AsType[*sessions.Error](err); {
		case is:
			span.SetStatus(codes.Error, string(refusal.Code))
		case err != nil:
			span.SetStatus(codes.Error, "the caller waits no longer")
		}
		span.SetAttributes(attribute.String("agenthost.request.id", string(message.Request.ID)))
		span.End()
	}
}
