package actors

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"agenthost/oracle"
	"agenthost/sessions"
	"agenthost/tools"
)

// textEvery is how long streamed text may be without being durable.
const textEvery = 500 * time.Millisecond

// infer makes one model call and collects its parts in r.step.
func (r *run) infer() (failed *sessions.Error) {
	visible := r.deps.tree.VisibleBeside(r.scope, r.clients)
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return errFault() // not used: the end is decided
	}
	r.iterations++
	r.step = step{number: r.iterations, attempt: r.attempt}
	r.attempt = 1 // only a call that a restart cut is repeated; adapters repeat before the first part
	req, number := r.request(visible), r.step.number
	r.mu.Unlock()
	defer r.stopFlush()
	ctx, ended := r.watchModel(number)
	failed = errFault() // what stands when the oracle panics
	defer func() { ended(failed, r.stepUsage()) }()

	var runes wholeRunes
	for part, err := range r.profile.Oracle.Infer(ctx, req) {
		if err != nil {
			return r.inferError(err)
		}
		if err := r.collect(part, visible, &runes); err != nil {
			return err
		}
	}
	if err := r.addText(runes.rest()); err != nil {
		return err
	}
	return r.endAnswer()
}

// stepUsage is what was reported for the step's model call.
func (r *run) stepUsage() sessions.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.step.usage
}

// collect takes in one part of a model's answer.
func (r *run) collect(part oracle.Part, visible []*tools.Mounted, runes *wholeRunes) *sessions.Error {
	switch part := part.(type) {
	case oracle.TextDelta:
		return r.addText(runes.take(part.Text))
	case oracle.ToolCall:
		return r.addCall(part, visible)
	case oracle.UsageReport:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.step.usage = plausible(part.Usage)
	case oracle.Stop:
		// Why a model stopped makes no difference to what is done with what it
		// said: a cut or refused answer is an answer.
	}
	return nil
}

// addText takes in streamed text, shows it to whoever listens, and sees to it
// that it becomes durable in time.
func (r *run) addText(text string) *sessions.Error {
	if text == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return errFault()
	}
	if err := r.addBytes(len(text)); err != nil {
		return err
	}
	s := &r.step
	offset := s.text.Len()
	s.text.WriteString(text)
	if life := r.fence.Incarnation; r.deps.feed.Listening(life) {
		r.deps.feed.Publish(life, sessions.Frame{
			TurnID: r.turn.TurnID, RequestID: r.turn.RequestID, At: r.deps.nowMs(),
			Body: sessions.Delta{Step: s.number, Attempt: s.attempt, Offset: int64(offset), Text: text},
		})
	}
	if s.flush == nil {
		s.flush = time.AfterFunc(textEvery, func() {
			r.deps.background(func(life context.Context) { r.keepText(life) })
		})
	}
	return nil
}

// addBytes counts what the model has written, text or calls. r.mu is held.
func (r *run) addBytes(n int) *sessions.Error {
	limit := r.deps.limits.TurnTextBytes
	if r.textBytes += int64(n); r.textBytes > limit {
		return errTextTooLong(limit)
	}
	return nil
}

// maxTokens is more than any model call consumes.
const maxTokens = 1 << 32

// plausible returns what a model call may have consumed. Providers report
// anything, and sums that overflow could not be stored.
func plausible(u sessions.Usage) sessions.Usage {
	for _, n := range []*int64{&u.InputTokens, &u.OutputTokens, &u.CachedTokens} {
		*n = min(max(*n, 0), maxTokens)
	}
	return u
}

// stopFlush ends the timer of addText; what it has not kept is kept with the
// step's end.
func (r *run) stopFlush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.step.flush != nil {
		r.step.flush.Stop()
	}
}

// addCall takes in one call under an id of the host's own: providers' ids may
// repeat from turn to turn.
func (r *run) addCall(c oracle.ToolCall, visible []*tools.Mounted) *sessions.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.step
	if len(s.calls) >= r.deps.limits.CallsPerStep {
		s.calls, s.results = nil, nil
		return sessions.TooLarge("callsPerStep", int64(r.deps.limits.CallsPerStep),
			"The model asked for more than the %d tool calls that one answer may have; none was run.", r.deps.limits.CallsPerStep)
	}
	if err := r.addBytes(len(c.Function) + len(c.Args)); err != nil {
		s.calls, s.results = nil, nil
		return err
	}
	path, known := r.deps.pathOf(c.Function, visible)
	s.calls = append(s.calls, sessions.ToolCall{
		ID:   NewCallID(),
		Path: path,
		Args: argsOf(c.Args),
	})
	var result *callResult
	if !known {
		result = &callResult{err: errTool(path, "No tool has the name that was called.").Info()}
	}
	s.results = append(s.results, result)
	return nil
}

// NewCallID returns an id for a tool call, unique over all lives of all sessions,
// and short enough for every provider.
func NewCallID() sessions.CallID {
	return sessions.CallID("call_" + strings.ReplaceAll(newID(), "-", ""))
}

// malformedArgs is the field under which arguments that are no JSON object are
// kept, so that the history stays valid and the model sees what it wrote.
const malformedArgs = "malformedArguments"

// argsOf returns what a model wrote as arguments as a JSON object.
func argsOf(written string) json.RawMessage {
	written = strings.ToValidUTF8(written, "\uFFFD")
	if strings.TrimSpace(written) == "" {
		return json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(written), &object) == nil && object != nil {
		if args, err := canonical(json.RawMessage(written)); err == nil {
			return args
		}
	}
	kept, _ := json.Marshal(map[string]string{malformedArgs: written}) // a string always marshals
	return kept
}

// isMalformed reports whether args stand for something that was no JSON object.
func isMalformed(args json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(args, &object) == nil && len(object) == 1 && object[malformedArgs] != nil
}

// endAnswer checks that the model has said something.
func (r *run) endAnswer() *sessions.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.step.text.Len() == 0 && len(r.step.calls) == 0 {
		return sessions.Errorf(sessions.CodeLLMAPIFailure, "The model gave an empty answer.")
	}
	r.step.answered = true
	r.countCall()
	return nil
}

// countCall adds the step's model call, once, to the usage that the next commit
// stores. r.mu is held.
func (r *run) countCall() {
	s := &r.step
	if s.number == 0 || s.counted {
		return
	}
	s.counted, s.usage.Calls = true, 1
	r.usage = r.usage.Plus(s.usage)
}

// inferError gives the error of a failed model call its code. The provider's
// own words go to the log only.
func (r *run) inferError(err error) *sessions.Error {
	r.mu.Lock()
	ended := r.ended
	if !ended {
		r.countCall()
	}
	r.mu.Unlock()
	if ended {
		return errFault() // not used: the end is decided
	}
	r.deps.log.Warn("model call failed", r.named("oracle", r.profile.Oracle.Name(), "error", err)...)
	return modelFailure(err)
}

// modelFailure is what the callers hear of a model call that failed with err.
func modelFailure(err error) *sessions.Error {
	if e, ok := errors.AsType[*sessions.Error](err); ok && e.Code == sessions.CodeLLMAPIFailure {
		return e
	}
	return sessions.Errorf(sessions.CodeLLMAPIFailure, "The model call failed.").Because(err)
}
