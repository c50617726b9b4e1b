package main

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"agenthost/cmd/agenthost/config"
	"agenthost/sessions"
)

// flushTime is how long a stop waits for the last spans to be sent.
const flushTime = 3 * time.Second

// tracing makes spans and sends them to a collector. Its zero value makes none.
type tracing struct{ provider *sdktrace.TracerProvider }

// startTracing is tracing as the configuration says. Everything but the endpoint is
// said by OpenTelemetry's own variables, which its libraries read. log hears what
// becomes of spans that cannot be sent.
func startTracing(ctx context.Context, c *config.Config, log *slog.Logger) (tracing, error) {
	if !c.Tracing.On {
		return tracing{}, nil
	}
	var options []otlptracehttp.Option
	if c.Tracing.Endpoint != "" {
		options = append(options, otlptracehttp.WithEndpointURL(tracesAt(c.Tracing.Endpoint)))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("tracing failed", "error", err) }))
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return tracing{}, cannotTrace(err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "agenthost"), attribute.String("service.version", versionOf().Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return tracing{}, cannotTrace(err)
	}
	return tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}, nil
}

// tracesAt is the URL that spans are sent to: one without a path is a collector's
// address, which takes them at the usual place.
func tracesAt(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return endpoint
	}
	return u.JoinPath("v1", "traces").String()
}

func cannotTrace(err error) error {
	return sessions.Errorf(sessions.CodeInvalidRequest, "Tracing cannot start: %s.", err).Because(err)
}

// spans is what makes the spans, nil when nothing is traced.
func (t tracing) spans() trace.TracerProvider {
	if t.provider == nil {
		return nil
	}
	return t.provider
}

// stop sends what is left, for as long as flushTime.
func (t tracing) stop(log *slog.Logger) {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		log.Warn("the last spans are not sent", "error", err)
	}
}
