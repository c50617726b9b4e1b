package actors

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"agenthost/sessions"
)

// Names of spans and of their attributes. Ids are in spans, content never is.
const (
	spanTurn      = "turn"
	spanModelCall = "model call"
	spanToolCall  = "tool call"

	eventWaits  = "waits for clients"
	eventGoesOn = "goes on"
	spanSide    = "side question"

	attrSession   = attribute.Key("agenthost.session.id")
	attrTurn      = attribute.Key("agenthost.turn.id")
	attrRequest   = attribute.Key("agenthost.request.id")
	attrProfile   = attribute.Key("agenthost.profile")
	attrTakenUp   = attribute.Key("agenthost.turn.taken_up")
	attrStatus    = attribute.Key("agenthost.turn.status")
	attrOracle    = attribute.Key("agenthost.oracle")
	attrStep      = attribute.Key("agenthost.step")
	attrCall      = attribute.Key("agenthost.call.id")
	attrPath      = attribute.Key("agenthost.tool.path")
	attrOutcome   = attribute.Key("agenthost.outcome")
	attrTokensIn  = attribute.Key("agenthost.tokens.input")
	attrTokensOut = attribute.Key("agenthost.tokens.output")
)

// traced begins a span below that of ctx. Without a tracer that is no span, and
// attrs is not called.
func (d *deps) traced(ctx context.Context, name string, attrs func() []attribute.KeyValue) (context.Context, trace.Span) {
	if d.tracer == nil {
		return ctx, trace.SpanFromContext(context.Background()) // one that records nothing
	}
	return d.tracer.Start(ctx, name, trace.WithAttributes(attrs()...)) //nolint:spancheck // the watch that has asked for it ends it
}

// turnWatch tells of one turn to those who observe and trace the system.
type turnWatch struct {
	run   *run
	span  trace.Span
	began time.Time
	over  atomic.Bool
}

// begin returns the context of the turn's calls, within the turn's span. under is
// the span that has asked for the turn.
func (w *turnWatch) begin(r *run, under trace.SpanContext, takenUp bool) context.Context {
	d := r.deps
	w.run, w.began = r, time.Now()
	d.observer.TurnBegan(takenUp)
	if d.log.Enabled(d.lifetime, slog.LevelDebug) {
		d.log.Debug("turn began", r.named("profile", r.ident.profile, "takenUp", takenUp)...)
	}
	ctx := d.lifetime
	if under.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, under)
	}
	ctx, w.span = d.traced(ctx, spanTurn, func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attrSession.String(string(r.ident.id)), attrTurn.String(string(r.turn.TurnID)),
			attrRequest.String(string(r.turn.RequestID)), attrProfile.String(r.ident.profile), attrTakenUp.Bool(takenUp),
		}
	})
	return ctx
}

// end tells how the turn ended, the first time; status is "" for one that is
// dropped.
func (w *turnWatch) end(status sessions.TurnStatus, err *sessions.Error) {
	if w.over.Swap(true) {
		return
	}
	var code sessions.Code
	if err != nil {
		code = err.Code
	}
	d, took := w.run.deps, time.Since(w.began)
	d.observer.TurnEnded(status, code, took)
	if d.log.Enabled(d.lifetime, slog.LevelDebug) {
		d.log.Debug("turn ended", w.run.named("status", status, "code", code, "took", took)...)
	}
	w.span.SetAttributes(attrStatus.String(string(status)))
	if status != sessions.TurnIsCompleted {
		w.span.SetStatus(codes.Error, string(code))
	}
	w.span.End()
}

// event marks a moment of the turn in its span.
func (w *turnWatch) event(name string) { w.span.AddEvent(name) }

// named is what log lines about the turn begin with: whose it is.
func (r *run) named(more ...any) []any {
	return append([]any{"session", r.ident.id, "turn", r.turn.TurnID, "request", r.turn.RequestID}, more...)
}

// callWatch tells of one call of a model or of a tool.
type callWatch struct {
	span  trace.Span
	began time.Time
}

func (w callWatch) end(outcome CallOutcome) (took time.Duration) {
	w.span.SetAttributes(attrOutcome.String(string(outcome)))
	if outcome != CallSucceeded {
		w.span.SetStatus(codes.Error, string(outcome))
	}
	w.span.End()
	return time.Since(w.began)
}

// watchModel begins to watch a model call of the turn, which ended tells the end of.
func (r *run) watchModel(step int) (ctx context.Context, ended func(failed *sessions.Error, consumed sessions.Usage)) {
	oracle := r.profile.Oracle.Name()
	w := callWatch{began: time.Now()}
	ctx, w.span = r.deps.traced(r.ctx, spanModelCall, func() []attribute.KeyValue {
		return []attribute.KeyValue{attrOracle.String(oracle), attrStep.Int(step)}
	})
	return ctx, func(err *sessions.Error, consumed sessions.Usage) {
		outcome := outcomeOf(err != nil, r.isEnded())
		w.span.SetAttributes(attrTokensIn.Int64(consumed.InputTokens), attrTokensOut.Int64(consumed.OutputTokens))
		r.deps.observer.ModelCalled(oracle, outcome, consumed, w.end(outcome))
	}
}

// watch begins to watch the model call of a side question, which ended tells the
// end of.
func (s *side) watch(ctx context.Context) (_ context.Context, ended func(sessions.Usage, *sessions.Error)) {
	oracle := s.profile.Oracle.Name()
	w := callWatch{began: time.Now()}
	if s.question.Trace.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, s.question.Trace)
	}
	ctx, w.span = s.deps.traced(ctx, spanSide, func() []attribute.KeyValue {
		return []attribute.KeyValue{attrSession.String(string(s.ident.id)), attrProfile.String(s.ident.profile), attrOracle.String(oracle)}
	})
	return ctx, func(consumed sessions.Usage, err *sessions.Error) {
		outcome := outcomeOf(err != nil, ctx.Err() != nil)
		w.span.SetAttributes(attrTokensIn.Int64(consumed.InputTokens), attrTokensOut.Int64(consumed.OutputTokens))
		s.deps.observer.SideAsked(oracle, outcome, consumed, w.end(outcome))
	}
}

// watchTool begins to watch a tool call of the turn, which ended tells the end of.
func (r *run) watchTool(ctx context.Context, p plannedCall) (_ context.Context, ended func(*callResult)) {
	w := callWatch{began: time.Now()}
	ctx, w.span = r.deps.traced(ctx, spanToolCall, func() []attribute.KeyValue {
		return []attribute.KeyValue{attrPath.String(p.tool.Path), attrCall.String(string(p.call.ID))}
	})
	return ctx, func(res *callResult) {
		outcome := outcomeOf(res.err != nil, r.ctx.Err() != nil)
		r.deps.observer.ToolCalled(p.tool.Path, outcome, w.end(outcome))
	}
}

func outcomeOf(failed, turnIsOver bool) CallOutcome {
	switch {
	case !failed:
		return CallSucceeded
	case turnIsOver:
		return CallIsCut
	default:
		return CallFailed
	}
}
