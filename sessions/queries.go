package sessions

// The questions of the Store port, and its answers to them.

// Resolution is what an address means at one moment.
type Resolution struct {
	Life       Incarnation // 0 when there is no session
	ID         SessionID
	Key        Key
	Profile    string
	Generation int64 // the owner's, from 1
	Waits      bool  // the session's active turn waits for clients
}

// SessionQuery asks for a page of sessions. Zero values do not filter.
type SessionQuery struct {
	Owner     Owner // AllOwners for everybody's
	TargetKey string
	Profile   string
	Statuses  []Status
	Parent    *SessionID // nil any, "" roots only
	Agent     *AgentID   // nil any, "" those made from none
	Labels    map[string]string
	Limit     int
	Cursor    string
	// ByID orders by id, largest first unless Ascending: ids that hosts make grow
	// with time. The cursor of a page is then any id, also one that no session has,
	// and the page begins behind it.
	ByID, Ascending bool
}

// SessionPage is one page of sessions.
type SessionPage struct {
	Sessions   []Session
	NextCursor string // "" on the last page
}

// MessageQuery selects messages of a life by seq. Limit 0 means all.
type MessageQuery struct {
	AfterSeq   int64
	BeforeSeq  int64 // 0 means no bound
	Descending bool
	Limit      int
}

// MessagePage is a range of messages.
type MessagePage struct {
	Messages []Message
	HasMore  bool
}

// FrameQuery selects frames of a life by seq, exclusive at both ends.
type FrameQuery struct {
	AfterSeq   int64
	BeforeSeq  int64 // 0 means no bound
	Descending bool
	Limit      int
	TurnID     TurnID // "" means all turns
}

// FramePage is a range of frames: up to the last one in it, or to the end of
// what was asked for when there are no more.
type FramePage struct {
	Frames []Frame
	// Missing are the seqs in the range that are not kept, in the page's order:
	// cut by retention, or lost with the power. Of the frames of one turn those
	// are told that may have been the turn's.
	Missing []Gap
	HasMore bool
	Last    int64 // seq of the life's newest frame
}

// WithGaps returns the page's frames with an unnumbered gap frame in the place
// of those that are missing. descending is how the page was asked for.
func (p FramePage) WithGaps(descending bool) []Frame {
	if len(p.Missing) == 0 {
		return p.Frames
	}
	all := make([]Frame, 0, len(p.Frames)+len(p.Missing))
	rest := p.Frames
	for _, gap := range p.Missing {
		n := 0
		for n < len(rest) && (rest[n].Seq < gap.From) != descending {
			n++
		}
		all = append(append(all, rest[:n]...), Frame{Body: gap})
		rest = rest[n:]
	}
	return append(all, rest...)
}

// TurnQuery asks for a page of turns.
type TurnQuery struct {
	Limit     int
	Cursor    string // of a page asked for without After and Ascending
	After     TurnID // begin behind this turn; "" for the first
	Ascending bool   // oldest first
}

// TurnPage is one page of turns.
type TurnPage struct {
	Turns      []Turn
	NextCursor string
}

// Claim is what is known of a request id.
type Claim struct {
	Fingerprint [32]byte
	Life        Incarnation
	TurnID      TurnID // "" for a request other than a prompt
	// Tombstone says that the claim's life was deleted.
	Tombstone bool
}

// BusyTurn is a turn that is not terminal, with what is needed to carry it on.
type BusyTurn struct {
	Turn    Turn
	Session Session
	// Interrupts says that the turn is queued to run instead of the session's
	// active one, which is to be cancelled.
	Interrupts bool
}

// RetireQuery asks for a page of the roots that a rule of retention names. A
// closed session counts as last active when it was closed.
type RetireQuery struct {
	Profile string // "" means any
	Before  Time   // last active before; 0 means any
	Blank   bool   // without a turn
	Beyond  int64  // not among so many of an owner that were active last; 0 means any
	Limit   int
	Cursor  string // NextCursor of the page before
}

// RetirePage is one page of roots.
type RetirePage struct {
	Roots      []Retiree
	NextCursor string
}

// Retiree is a root that retention may end: if nothing of its tree was active at
// Before or later.
type Retiree struct {
	DeletedSession
	Before Time
}
