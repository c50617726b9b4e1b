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
	life    sessions.Incarnation
	first   int64 // seq of the first frame of the turn that runs: reading begins there
	seq     int64 // of the frame that the event is made of; of text, of the last frame before it that is not text
	slot    int64 // the event's place among those with that seq
	sent    int64 // bytes of the open text that were passed on so far
	attempt int64 // of the model call that writes the open text

	// frame is the seq of the frame that the event is made of, or of the next one for
	// text that is not durable yet. It is not part of the id.
	frame int64
}

// The events of a frame have the slots from 1 on, in their order. Those of text that
// is being written are behind all frames before it, and go by their stage.
const (
	slotText int64 = 1 << 20
	// slotLive is where a reader stands who has had all of a frame.
	slotLive = slotText - 1
)

// The stages of a text.
const (
	stageItem  int64 = 1 + iota // it has an item
	stagePart                   // with a part
	stageDelta                  // which has text
	// Those of one that does not become part of the history.
	stageTextDone // all of it was told
	stagePartDone // and its part ended
	stageItemDone // and its item
)

const eventPrefix = "evt_"

// id returns the position as an event's id.
func (p position) id() string {
	var raw []byte
	for _, n := range []int64{int64(p.life), p.first, p.seq, p.slot, p.sent, p.attempt} {
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
	var numbers [6]int64
	for i := range numbers {
		n, size := binary.Uvarint(raw)
		if size <= 0 {
			return p, false
		}
		numbers[i], raw = int64(n), raw[size:]
	}
	p = position{sessions.Incarnation(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], 0}
	return p, p.id() == id && p.life > 0 && p.first > 0 && p.seq >= p.first-1 && min(p.slot, p.sent, p.attempt) >= 0
}

// covers reports whether an event at q has been had by a reader who is at p. Text that
// p stands in is none of that: it is cut where the reader has left it.
func (p position) covers(q position) bool {
	switch {
	case q.frame != p.seq:
		return q.frame < p.seq
	case q.slot > slotText: // the other events of a frame are behind its text
		return true
	}
	return q.slot <= p.slot
}
