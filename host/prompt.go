package host

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"

	"agenthost/actors"
	"agenthost/actors/feed"
	"agenthost/host/api"
	"agenthost/sessions"
)

// Prompt sends a prompt and waits as args.Wait says. The error of a turn that
// ended badly is its code's, with details.turnId. emit, when not nil, gets the
// turn's frames, in order and from the calling goroutine, all of them before
// Prompt returns; with api.WaitAccepted those up to the accept. An error of
// emit ends the frames and not the prompt.
func (a *Access) Prompt(ctx context.Context, args *api.PromptArgs, emit func(sessions.Frame) error) (*api.PromptResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	message := a.promptOf(args, sessions.Request{ID: a.faced(args.RequestID), Fingerprint: args.Fingerprint()})
	return a.runTurn(ctx, message, args.WaitFor(), emit)
}

// PromptOnce is Prompt under args.RequestID and a digest of the caller's own of what
// is asked, which may be more than a prompt. It returns when the prompt is accepted.
func (a *Access) PromptOnce(ctx context.Context, args *api.PromptArgs, fingerprint [32]byte) (*api.PromptResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	return a.runTurn(ctx, a.promptOf(args, sessions.Request{ID: a.faced(args.RequestID), Fingerprint: fingerprint}), api.WaitAccepted, nil)
}

// promptOf returns the message that asks for what args ask.
func (a *Access) promptOf(args *api.PromptArgs, request sessions.Request) *actors.Prompt {
	message := &actors.Prompt{
		Owner: a.owner(args.Owner), At: args.At(), Content: args.Parts(),
		Request: request, Inference: args.Inference(), Busy: args.Busy,
	}
	if args.MaxIterations != nil {
		message.MaxIterations = *args.MaxIterations
	}
	if args.PromptTimeoutMs != nil {
		message.PromptTimeoutMs = *args.PromptTimeoutMs
	}
	return message
}

// Retry runs the last turn again, if it did not complete, from its last
// committed step. It waits and emits as Prompt does.
func (a *Access) Retry(ctx context.Context, args *api.RetryArgs, emit func(sessions.Frame) error) (*api.PromptResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	return a.runTurn(ctx, &actors.Prompt{
		Owner: a.owner(args.Owner), At: args.At(), Retry: &args.TurnID,
		Request: sessions.Request{ID: a.faced(args.RequestID), Fingerprint: args.Fingerprint()},
	}, args.WaitFor(), emit)
}

// runTurn sends a message that starts a turn, and waits for it.
func (a *Access) runTurn(ctx context.Context, message *actors.Prompt, wait api.Wait, emit func(sessions.Frame) error) (_ *api.PromptResult, err error) {
	ctx, ended := a.host.tracePrompt(ctx, message)
	defer func() { ended(err) }()
	p := &pending{
		system: a.host.system, message: message,
		accepted: make(chan actors.PromptAccepted, 1),
		reply:    make(chan actors.PromptReply, 1),
	}
	gone := make(chan struct{})
	defer close(gone)
	message.Accepted, message.Reply, message.Gone = p.accepted, p.reply, gone
	message.UntilWaiting = wait == api.WaitPending
	if message.Request.ID == "" {
		message.Request.ID = sessions.RequestID(uuid.NewString())
	}
	if emit != nil {
		p.stream = a.host.system.Feed().NewStream()
		defer p.stream.Close()
		message.Stream = p.stream
	}
	p.system.Prompt(message)
	if wait == api.WaitAccepted {
		return p.awaitAccepted(ctx, emit)
	}
	return p.awaitEnd(ctx, emit)
}

// pending is a prompt on its way through the actors.
type pending struct {
	system   *actors.System
	message  *actors.Prompt
	stream   *feed.Subscription // nil without frames
	accepted chan actors.PromptAccepted
	reply    chan actors.PromptReply
}

// awaitAccepted waits until the prompt is durable, or refused.
func (p *pending) awaitAccepted(ctx context.Context, emit func(sessions.Frame) error) (*api.PromptResult, error) {
	select {
	case got := <-p.accepted:
		return p.acceptedResult(ctx, got, emit)
	case r := <-p.reply:
		select {
		case got := <-p.accepted: // the end came on the heels of the accept
			return p.acceptedResult(ctx, got, emit)
		default:
			return p.result(r)
		}
	case <-p.system.Stopped():
		r, err := p.system.Wait(ctx, p.reply)
		if err != nil {
			return nil, err
		}
		return p.result(r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// acceptedResult passes on the frame of the accept, then answers with it.
func (p *pending) acceptedResult(ctx context.Context, got actors.PromptAccepted, emit func(sessions.Frame) error) (*api.PromptResult, error) {
	if emit != nil && !got.Waits {
		// It is the first frame of its turn; if it is not kept, a gap is there. What
		// ends the frames does not end the prompt. A prompt that waits has none yet.
		if frame, err := p.stream.Next(ctx); err == nil {
			_ = emit(frame)
		}
	}
	return &api.PromptResult{
		SessionID: got.SessionID, RequestID: p.message.Request.ID, TurnID: got.Turn.TurnID,
		Status: api.PromptAccepted, Duplicate: got.Duplicate, Cursor: got.Cursor,
	}, nil
}

// awaitEnd passes on the turn's frames, then returns its end.
func (p *pending) awaitEnd(ctx context.Context, emit func(sessions.Frame) error) (*api.PromptResult, error) {
	if emit != nil {
		return p.relay(ctx, emit)
	}
	r, err := p.system.Wait(ctx, p.reply)
	if err != nil {
		return nil, err
	}
	return p.result(r)
}

// relay passes frames to emit until the turn's last one, or the last one of a turn
// that is only followed until it waits, or a gap in its place:
// those of a turn that ended long ago may not be kept. The reply usually comes
// after it; one of no stored end is a refusal, which no frame follows.
func (p *pending) relay(ctx context.Context, emit func(sessions.Frame) error) (*api.PromptResult, error) {
	frames, stop := context.WithCancel(ctx)
	defer stop()
	var passed, last atomic.Int64 // the frames passed on, and the turn's last one
	got := make(chan endOfPrompt, 1)
	go func() {
		r, err := p.system.Wait(ctx, p.reply)
		last.Store(r.Turn.LastFrame)
		if err != nil || passed.Load() >= r.Turn.LastFrame {
			stop()
		}
		got <- endOfPrompt{r, err}
	}()
	for {
		frame, err := p.stream.Next(frames)
		if err != nil {
			break
		}
		if emit(frame) != nil || frame.Type().Terminal() {
			break
		}
		if gap, ok := frame.Body.(sessions.Gap); ok {
			passed.Store(gap.To)
		} else if frame.Seq > 0 {
			passed.Store(frame.Seq)
		}
		if end := last.Load(); end > 0 && passed.Load() >= end {
			break
		}
	}
	end := <-got
	if end.err != nil {
		return nil, end.err
	}
	return p.result(end.reply)
}

type endOfPrompt struct {
	reply actors.PromptReply
	err   error
}

// result turns the end of a prompt into its answer.
func (p *pending) result(r actors.PromptReply) (*api.PromptResult, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	result := &api.PromptResult{
		SessionID: r.SessionID, RequestID: p.message.Request.ID, TurnID: r.Turn.TurnID,
		Status: api.PromptCompleted, Duplicate: r.Duplicate, Message: r.Final,
		Iterations: r.Turn.Iterations, Usage: r.Turn.Usage,
	}
	if r.Turn.Status == sessions.TurnIsWaiting {
		result.Status, result.Pending = api.PromptWaiting, r.Pending
	}
	return result, nil
}
