package crash

import (
	"context"
	"fmt"
	"sync"
	"time"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/sessions"
)

// follower holds a subscription to one session, and takes it up again after its
// cursor whenever it is lost.
type follower struct {
	session sessions.SessionID

	mu        sync.Mutex
	last      int64 // seq of the last numbered frame
	terminals map[sessions.TurnID]int
	faults    []string
}

// follow runs until ctx ends.
func (f *follower) follow(ctx context.Context, url string) {
	cursor := sessions.Cursor("0")
	for ctx.Err() == nil {
		cursor = f.attach(ctx, url, cursor)
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// attach follows over one connection, and returns where it ended.
func (f *follower) attach(ctx context.Context, url string, after sessions.Cursor) sessions.Cursor {
	c, err := client.Dial(ctx, url, client.Config{})
	if err != nil {
		return after
	}
	defer c.Close()
	sub, err := c.Subscribe(ctx, api.SubscribeArgs{Address: api.Address{SessionID: f.session}, After: after})
	if err != nil {
		if code := sessions.CodeOf(err); code != "" && !code.Info().Retryable && isCut(err) && code != sessions.CodeInternal {
			f.fault("a subscription after %q is refused: %v", after, err)
		}
		return after
	}
	defer sub.Close()
	for {
		frame, err := sub.Next(ctx)
		if err != nil {
			return sub.Cursor()
		}
		f.see(frame)
	}
}

func (f *follower) see(frame sessions.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if frame.Type() == sessions.FrameGap {
		f.faults = append(f.faults, fmt.Sprintf("session %s: a gap after frame %d", f.session, f.last))
	}
	if frame.Seq == 0 {
		return
	}
	if frame.Seq != f.last+1 {
		f.faults = append(f.faults, fmt.Sprintf("session %s: frame %d came after frame %d", f.session, frame.Seq, f.last))
	}
	f.last = frame.Seq
	if frame.Type().Terminal() {
		if f.terminals[frame.TurnID]++; f.terminals[frame.TurnID] > 1 {
			f.faults = append(f.faults, fmt.Sprintf("session %s: turn %s ended twice", f.session, frame.TurnID))
		}
	}
}

func (f *follower) fault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fmt.Sprintf("session %s: ", f.session)+fmt.Sprintf(format, args...))
}

// has reports whether the follower has come to a frame.
func (f *follower) has(seq int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last >= seq
}
