package agentsv1

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"agenthost/sessions"
)

// position is where an event stands in a session's frames. It is the event's id,
// so that a reader can go on behind it.
type position struct {
	life  sessions.Incarnation
	first int64 // seq of the first frame of the event's turn: reading begins there
	seq   int64 // of the frame that the event is made of, or of the last one before streamed text
	slot  int64 // the event's place among those that one frame makes
	sent  int64 // bytes of the step's text that were passed on with the event
}

// Slots. Those of text that is not durable yet are behind those of any frame.
const (
	slotItemAdded int64 = 1 + iota
	slotPartAdded
	slotDelta
	slotTextDone
	slotPartDone
	slotItemDone
	slotTurn    // events of the turn itself
	slotSession // and of the session
	slotCalls   // two for each call

	slotStreamed int64 = 1 << 20 // added to the first three
	// slotOpen is where a reader stands in the middle of a text.
	slotOpen = slotStreamed + slotDelta + 1
	// slotLive is where a reader stands who has had all of a frame.
	slotLive = slotStreamed - 1
	// slotWaits is behind all calls: a session that waits for them.
	slotWaits = slotStreamed - 2
)

const eventPrefix = "evt_"

// id returns the position as an event's id.
func (p position) id() string {
	var raw []byte
	for _, n := range []int64{int64(p.life), p.first, p.seq, p.slot, p.sent} {
		raw = binary.AppendUvarint(raw, uint64(n))
	}
	return eventPrefix + base64.RawURLEncoding.EncodeToString(raw)
}

// positionOf reads an event's id; ok is false when it is none.
func positionOf(id string) (p position, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(id, eventPrefix))
	if err != nil {
		return p, false
	}
	var numbers [5]int64
	for i := range numbers {
		n, size := binary.Uvarint(raw)
		if size <= 0 {
			return p, false
		}
		numbers[i], raw = int64(n), raw[size:]
	}
	p = position{sessions.Incarnation(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4]}
	return p, p.id() == id && p.life > 0 && p.first > 0 && p.seq >= p.first-1
}

// covers reports whether an event at q has been had by a reader who is at p.
func (p position) covers(q position) bool {
	switch {
	case q.seq != p.seq:
		return q.seq < p.seq
	case p.slot > slotStreamed && q.slot >= min(p.slot, slotStreamed+slotDelta):
		return q.sent <= p.sent
	}
	return q.slot <= p.slot
}
