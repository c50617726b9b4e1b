package agentsv1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/sse"
	"agenthost/sessions"
)

// open sends the headers at once, and a comment, so that nobody on the way waits for
// more.
func (v *visit) open() (*sse.Writer, error) {
	w := sse.NewWriter(v.w, v.config.StallAfter)
	return w, w.Comment(" connected")
}

// send writes an event, if there is something to tell.
func (e event) send(ctx context.Context, w *sse.Writer) error {
	data, err := e.data(ctx)
	if data == nil || err != nil {
		return err
	}
	if w.Event(e.name, e.at.id(), data) != nil {
		return errReaderGone
	}
	return nil
}

// Why a stream ends, besides what api.EndError tells.
var (
	errReaderGone = errors.New("the reader is gone")
	errEventsLost = errors.New("events are lost")
)

// streamEvents follows a session: from now on, or behind the event that the
// reader has had last.
func (v *visit) streamEvents(n named) error {
	s, err := v.session(n.at)
	if err != nil {
		return err
	}
	from := position{life: s.Fence.Incarnation, first: s.LastFrame + 1, seq: s.LastFrame, slot: slotLive}
	if last := strings.Join(v.r.Header.Values("Last-Event-ID"), ","); last != "" { // several are no id
		p, ok := positionOf(last)
		if !ok || p.life != s.Fence.Incarnation || p.seq > s.LastFrame {
			return invalid("", "The Last-Event-ID is not of an event of this session.")
		}
		from = p
	} else if active := activeOf(s); active != "" {
		t, err := v.turn(n.at, active)
		if err != nil {
			return err
		}
		if t.FirstFrame > 0 {
			from.first = min(t.FirstFrame, from.first)
		}
	}
	return v.follow(s, from, nil, "")
}

// streamCreation follows a session from its making until the end of its first
// turn.
func (v *visit) streamCreation(s sessions.Session, turn sessions.TurnID) error {
	from := position{life: s.Fence.Incarnation, first: 1}
	created := event{position{life: from.life, first: 1, slot: 1}, eventRoot + "created", func(ctx context.Context) (map[string]any, error) {
		view, err := viewSession(ctx, v.access, s)
		if err != nil {
			return nil, err
		}
		view.Status, view.RequiredActions, view.Error = statusInProgress, []requiredAction{}, nil
		return map[string]any{"session": view}, nil
	}}
	return v.follow(s, from, &created, turn)
}

// follow sends a session's events behind a position. With until it ends when that
// turn has, and the session is settled or failed.
func (v *visit) follow(s sessions.Session, from position, first *event, until sessions.TurnID) error {
	at := api.Address{SessionID: s.ID}
	sub, err := v.access.Subscribe(v.ctx(), &api.SubscribeArgs{Address: at, After: cursorBefore(from)})
	if err != nil {
		return err
	}
	defer sub.Close()
	ctx, cancel, err := v.config.Stay(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	w, err := v.open()
	if err != nil {
		return nil // the reader is gone
	}
	group.Go(func() { w.KeepAlive(ctx, v.config.CommentEvery, " keep-alive", cancel) })
	t := &translator{access: v.access, at: at, session: s, last: from.first - 1, base: from.first - 1,
		maker:       itemMaker{life: s.Fence.Incarnation},
		before:      func(turn sessions.TurnID) (int64, error) { return v.beforeTurn(ctx, at, turn) },
		clientTools: func(turn sessions.TurnID) (map[string]bool, error) { return v.access.ClientTools(ctx, s, turn) }}
	if err := v.tell(ctx, w, t, sub, from, first, until); ctx.Err() == nil {
		v.sayEnd(w, s.ID, err)
	}
	return nil
}

// tell writes events until one ends the stream, or something else does: that is the
// error. A panic is an error too, since an answer that has begun has no status any
// more.
func (v *visit) tell(ctx context.Context, w *sse.Writer, t *translator, sub *host.Subscription, from position, first *event, until sessions.TurnID) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if first != nil {
		if err := first.send(ctx, w); err != nil {
			return err
		}
	}
	for {
		frame, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if err := v.pass(ctx, w, t, frame, from); err != nil || frame.Type().Terminal() && frame.TurnID == until {
			return err
		}
	}
}

// cursorBefore is where the frames begin that events behind a position are made of.
func cursorBefore(p position) sessions.Cursor {
	if p.first <= 1 {
		return sessions.CursorStart
	}
	return sessions.CursorAt(p.life, p.first-1)
}

// pass writes the events of a frame that the reader has not had.
func (v *visit) pass(ctx context.Context, w *sse.Writer, t *translator, frame sessions.Frame, from position) error {
	if t.misses(frame, from) {
		return errEventsLost
	}
	if frame.Seq == 0 && t.last < from.seq {
		return nil // streamed text that the reader has had, or will get when it is durable
	}
	events, err := t.frame(frame)
	if err != nil {
		return err
	}
	for _, e := range events {
		if from.covers(e.at) {
			continue
		}
		if err := e.send(ctx, w); err != nil {
			return err
		}
	}
	if frame.Seq > 0 && frame.Seq == from.seq && t.turn.id != "" && (from.slot > slotText || from.sent > 0) {
		t.resumeText(from)
	}
	return nil
}

// sayEnd tells a reader of an end that is not the session's or the turn's. nil is that.
func (v *visit) sayEnd(w *sse.Writer, id sessions.SessionID, err error) {
	end, ended := errors.AsType[*api.EndError](err)
	switch {
	case err == nil, errors.Is(err, errReaderGone), ended && end.Reason != api.EndSlow, problemOf(err).Code == typeNotFound:
	case ended:
		v.say(w, id, "slow_reader", "The reader fell too far behind; come back with the Last-Event-ID.")
	case errors.Is(err, errEventsLost):
		v.say(w, id, "events_unavailable", "Some events are not kept any more; read the session's items.")
	default:
		v.config.Logger.Error("stream broke off", "session", id, "error", err)
		v.say(w, id, typeServer, "The host met a fault of its own; come back with the Last-Event-ID.")
	}
}

// say writes the last event of a stream that ends before its time. It has no line with
// an id: whoever comes back is behind the event before it.
func (v *visit) say(w *sse.Writer, id sessions.SessionID, code, message string) {
	stream, _ := strings.CutPrefix(v.w.Header().Get("X-Request-Id"), "req_")
	data, err := json.Marshal(map[string]any{"type": "error", "event_id": "end_" + stream, "session_id": id,
		"error": problem{Message: message, Type: typeServer, Code: code}})
	if err == nil {
		_ = w.Event("error", "", data) // it was the last thing to say
	}
}

// beforeTurn returns the seq of the last message before those that a turn has added,
// of its own or because it was taken up again.
func (v *visit) beforeTurn(ctx context.Context, at api.Address, id sessions.TurnID) (int64, error) {
	turn, err := v.access.Turn(ctx, &api.TurnArgs{Address: at, TurnID: id})
	if err != nil {
		return 0, err
	}
	last := turn.Turn.UserSeq
	for {
		got, err := v.access.Messages(ctx, &api.MessagesArgs{Address: at, AfterSeq: &last, Limit: new(chunkSize)})
		if err != nil {
			return 0, err
		}
		for _, m := range got.Messages {
			if m.TurnID == id {
				return last, nil
			}
			last = m.Seq
		}
		if !got.HasMore {
			return last, nil
		}
	}
}
