package agentsv1

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

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
	return w.Event(e.name, e.at.id(), data)
}

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
	if first != nil && first.send(ctx, w) != nil {
		return nil
	}
	t := &translator{access: v.access, at: at, profile: s.ProfileKey, last: from.first - 1, base: from.first - 1,
		maker:       itemMaker{life: s.Fence.Incarnation},
		before:      func(turn sessions.TurnID) (int64, error) { return v.beforeTurn(ctx, at, turn) },
		clientTools: func(turn sessions.TurnID) (map[string]bool, error) { return v.access.ClientTools(ctx, s, turn) }}
	for {
		frame, err := sub.Next(ctx)
		if err != nil {
			v.sayEnd(w, s.ID, err)
			return nil
		}
		if v.pass(ctx, w, t, frame, from) != nil {
			return nil // the reader, or the session, is gone
		}
		if frame.Type().Terminal() && frame.TurnID == until {
			return nil
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
		v.say(w, t.at.SessionID, "events_unavailable", "Some events are not kept any more; read the session's items.")
		return errors.New("events are lost")
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

// sayEnd tells a reader who is too slow so; other ends need no words.
func (v *visit) sayEnd(w *sse.Writer, id sessions.SessionID, err error) {
	if end, ok := errors.AsType[*api.EndError](err); ok && end.Reason == api.EndSlow {
		v.say(w, id, "slow_reader", "The reader fell too far behind; come back with the Last-Event-ID.")
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
