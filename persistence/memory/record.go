package memory

import (
	"cmp"
	"slices"

	"agenthost/sessions"
)

// record is all that is kept of one life of a session. It goes as a whole.
type record struct {
	session    sessions.Session
	messages   []sessions.Message // by seq, from 1
	frames     []sessions.Frame   // by seq, from firstFrame
	firstFrame int64
	state      map[string]value
	summaries  []sessions.Summary // oldest first
	turns      []*turn            // oldest first
	pending    []*prompt          // in the order of their accepts
	waited     []*waitedCall      // in the order in which they began to wait
	refs       []sessions.Ref
	usage      map[usageKey]sessions.Usage
}

// value is one named value of a session's state. One that was removed stays, so
// that its versions never repeat in a life.
type value struct {
	sessions.StateValue
	removed bool
}

// turn is a turn with its place among all turns.
type turn struct {
	sessions.Turn
	num     int64
	steered bool // it was ever sent text
}

// usageKey is what usage is added up by: days since the Unix epoch, models, kinds.
type usageKey struct {
	day   int64
	model string
	kind  sessions.UsageKind
}

func (r *record) life() sessions.Incarnation { return r.session.Fence.Incarnation }

// busy returns AGENT_BUSY, with the turn that makes it so, when a turn of the
// session has not ended.
func (r *record) busy() error {
	switch {
	case r.session.ActiveTurn != nil:
		return sessions.ErrSessionBusy.With("turnId", r.session.ActiveTurn.TurnID)
	case r.session.Queued > 0:
		return sessions.ErrSessionBusy
	}
	return nil
}

// quietSince is when the session was last active, as retention counts it.
func (r *record) quietSince() sessions.Time {
	return cmp.Or(r.session.ClosedAt, r.session.LastActiveAt)
}

// turn returns the turn with an id, nil if the session has none.
func (r *record) turn(id sessions.TurnID) *turn {
	for _, t := range slices.Backward(r.turns) {
		if t.TurnID == id {
			return t
		}
	}
	return nil
}

// find returns the session at an address, nil if there is none.
func (s *Store) find(owner sessions.Owner, at sessions.Address) *record {
	if at.ID != "" {
		return s.lives[s.ids[ownID{owner, at.ID}]]
	}
	return s.lives[s.keys[ownKey{owner, at.Key}]]
}

// ofOwner returns the owner's sessions, or everybody's, oldest life first.
func (s *Store) ofOwner(owner sessions.Owner) (found []*record) {
	for _, r := range s.lives {
		if r.session.Owner == owner || owner == sessions.AllOwners {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *record) int { return cmp.Compare(a.life(), b.life()) })
	return found
}

// born makes a session as it is at its birth, with what template says of it, and
// drops the tombstones of earlier lives of its id.
func (s *Store) born(template sessions.Session, now sessions.Time) *record {
	s.raise(template.Owner, template.ID)
	s.lastLife++
	made := copySession(template)
	made.Fence.Incarnation = s.lastLife
	made.Status, made.CreatedAt, made.LastActiveAt = sessions.StatusCreated, now, s.activeAt(now)
	r := &record{session: made, firstFrame: 1, state: map[string]value{}, usage: map[usageKey]sessions.Usage{}}
	s.lives[s.lastLife] = r
	s.ids[ownID{made.Owner, made.ID}] = s.lastLife
	if key := made.Key(); !key.IsZero() {
		s.keys[ownKey{made.Owner, key}] = s.lastLife
	}
	return r
}

// append adds copies of messages to the history, numbered on, and the session's
// preview if they have its first words of a user.
func (r *record) append(messages ...sessions.Message) {
	for _, m := range messages {
		m = copyMessage(m)
		m.Seq = int64(len(r.messages)) + 1
		r.messages = append(r.messages, m)
		if r.session.Preview == "" && m.Role == sessions.RoleUser {
			r.session.Preview = sessions.Preview(m.Content)
		}
	}
	r.session.MessageCount = int64(len(r.messages))
}

// emit adds frames, numbered on, and returns copies of them.
func (r *record) emit(of sessions.Turn, at sessions.Time, bodies ...sessions.FrameBody) []sessions.Frame {
	first := len(r.frames)
	for _, b := range bodies {
		r.session.LastFrame++
		r.frames = append(r.frames, sessions.Frame{Seq: r.session.LastFrame, Cursor: sessions.CursorAt(r.life(), r.session.LastFrame),
			TurnID: of.TurnID, RequestID: of.RequestID, At: at, Body: copyBody(b)})
	}
	return copyAll(r.frames[first:], copyFrame)
}

// set stores a named value, one version above the one before.
func (r *record) set(name string, v value, now sessions.Time) int64 {
	v.Version = r.state[name].Version + 1
	v.UpdatedAt = now
	r.state[name] = v
	return v.Version
}
