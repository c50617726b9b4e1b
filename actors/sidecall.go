package actors

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"agenthost/oracle"
	"agenthost/sessions"
	"agenthost/tools"
)

// side is one side question: a model call of its own, in a goroutine of its own.
type side struct {
	deps     *deps
	agent    *PID
	ident    identity
	profile  Profile
	scope    tools.Scope
	question *SideQuestion
	stop     context.CancelCauseFunc // nil until it starts; of the agent alone

	history   []sessions.Message  // to ask about, never changed; nil while it is to be read
	summary   sessions.Summary    // of history
	inference *sessions.Inference // what the latest turn asks of models; nil while it is to be read
}

// start asks the question about the life in the background, and tells the agent of
// the answer.
func (s *side) start(life sessions.Incarnation) {
	ctx, stop := context.WithCancelCause(s.deps.lifetime)
	s.stop = stop
	s.deps.background(func(system context.Context) {
		got, ended := SideAnswer{Err: errFault()}, false
		defer func() {
			if fault := recover(); fault != nil || !ended {
				s.deps.logPanic("side question panicked", fault, "session", s.ident.id)
			}
			stop(nil)
			s.deps.send(s.agent, &sideEnded{s, got})
		}()
		got = s.ask(ctx, system, life)
		ended = true
	})
}

// ask makes the model call. ctx ends with the question, system with the host.
func (s *side) ask(ctx, system context.Context, life sessions.Incarnation) SideAnswer {
	limit := s.profile.PromptTimeout
	ctx, over := context.WithTimeoutCause(ctx, limit, errSideTimeout(limit.Milliseconds()))
	ctx, leave := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.question.Gone:
			leave(errSideCancelled())
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer over()
	defer leave(nil)

	if err := s.prepare(ctx, life); err != nil {
		return SideAnswer{Err: s.ended(ctx, err)}
	}
	text, used, failed := s.infer(ctx)
	if failed != nil {
		failed = s.ended(ctx, failed)
	}
	err := s.record(ctx, system, life, used)
	switch {
	case failed != nil:
		return SideAnswer{Err: failed}
	case err != nil:
		return SideAnswer{Err: sessions.AsError(err)}
	default:
		return SideAnswer{Text: text, Usage: used}
	}
}

// ended returns err, or what has ended ctx before.
func (s *side) ended(ctx context.Context, err error) *sessions.Error {
	if ctx.Err() == nil {
		return sessions.AsError(err)
	}
	if why, ok := errors.AsType[*sessions.Error](context.Cause(ctx)); ok {
		return why
	}
	return errStopping()
}

// infer makes the model call. What it asks to be run is not run.
func (s *side) infer(ctx context.Context) (text string, used sessions.Usage, failed *sessions.Error) {
	ctx, ended := s.watch(ctx)
	used.Calls = 1
	failed = errFault() // what stands when the oracle panics
	defer func() {
		if fault := recover(); fault != nil {
			s.deps.logPanic("side question panicked", fault, "session", s.ident.id)
		}
		ended(used, failed)
	}()
	var said strings.Builder
	var runes wholeRunes
	clients, err := tools.ClientTools("", s.inference.ClientTools)
	if err != nil {
		return "", used, sessions.AsError(err)
	}
	req := s.profile.request(s.input(), *s.inference, s.deps.tree.VisibleBeside(s.scope, clients))
	for part, err := range s.profile.Oracle.Infer(ctx, req) {
		if err != nil {
			return "", used, s.failure(ctx, err)
		}
		switch part := part.(type) {
		case oracle.TextDelta:
			said.WriteString(runes.take(part.Text))
		case oracle.UsageReport:
			used = plausible(part.Usage)
			used.Calls = 1
		case oracle.ToolCall, oracle.Stop:
		}
		if limit := s.deps.limits.TurnTextBytes; int64(said.Len()) > limit {
			return "", used, sessions.TooLarge("turnTextBytes", limit, "The model wrote more than the %d bytes of text that an answer may have.", limit)
		}
	}
	said.WriteString(runes.rest())
	if strings.TrimSpace(said.String()) == "" {
		return "", used, sessions.Errorf(sessions.CodeLLMAPIFailure, "The model gave no answer in text; ask again, or in other words.")
	}
	return said.String(), used, nil
}

// failure gives the error of a failed model call its code. The provider's own
// words go to the log only.
func (s *side) failure(ctx context.Context, err error) *sessions.Error {
	if ctx.Err() != nil {
		return errFault() // not used: what has ended ctx is said
	}
	s.deps.log.Warn("side question failed", "session", s.ident.id, "oracle", s.profile.Oracle.Name(), "error", err)
	return modelFailure(err)
}

// record stores what the model call consumed, trying again for as long as the
// store cannot take it and somebody waits.
func (s *side) record(ctx, system context.Context, life sessions.Incarnation, used sessions.Usage) error {
	add := sessions.AddUsage{
		Life: life, Kind: sessions.UsageOfSideQuestions, Model: s.profile.model, Usage: used, Now: s.deps.nowMs(),
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := s.deps.store.AddUsage(system, add)
		if err == nil || !mayPass(err) {
			return goneMeans(err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}
