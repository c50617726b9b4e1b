package sessions

import (
	"cmp"
	"encoding/json"
	"maps"
)

// The commands of the Store port, and its answers to them.

// CreateSession asks for a session.
type CreateSession struct {
	Owner          Owner
	At             Address   // its id, its key, both, or neither
	NewID          SessionID // the id to use when At has none
	Profile        string    // the profile of a session without a key
	AgentID        AgentID   // the saved agent it is made from, "" for none; nobody looks for it
	Title          string
	Labels         map[string]string
	ParentID       SessionID // "" for a root; SESSION_NOT_FOUND when it does not exist
	ParentLocation Location
	Call           ChildCall // what asks for a child, zero for none
	// State are named values that a new session begins with.
	State   map[string]json.RawMessage
	Request *Request // nil when the client gave no request id
	Now     Time
}

// ChildCall is what a child of a tool call is found again by: the call that made
// it, or the name under which the parent keeps it.
type ChildCall struct {
	Life   Incarnation // of the parent; another one now is ErrFenced. 0 means any
	TurnID TurnID
	CallID CallID
	Name   string // of a companion, "" for none
}

// CreatedSession is the answer to CreateSession.
type CreatedSession struct {
	Session Session
	Created bool
}

// Request is a claim on a request id: the id, and a digest of what was asked
// under it. Claims that name the same id with another fingerprint conflict.
type Request struct {
	ID          RequestID
	Fingerprint [32]byte
	TTLMs       int64 // how long the claim lives after the request's end, in milliseconds
}

// ClaimRequest claims a request id for what is neither a prompt nor makes a session.
type ClaimRequest struct {
	Owner   Owner
	At      Address
	Request Request
	Now     Time
}

// ClaimedRequest is the answer to ClaimRequest.
type ClaimedRequest struct {
	Session   Session
	TurnID    TurnID // what was to run first when the id was claimed: the active turn, else a queued one; "" for none
	Duplicate bool
}

// UpdateSession changes a session's title, labels or both. nil leaves one as it is.
type UpdateSession struct {
	Owner  Owner
	At     Address
	Title  *string
	Labels map[string]string
	Now    Time
}

// SetState asks for one named value of a session.
type SetState struct {
	Owner     Owner
	At        Address
	Name      string
	Value     json.RawMessage // nil removes the value; its versions go on rising
	IfVersion *int64          // 0 means that there is no such value
	Now       Time
}

// SeedSession appends a synthetic transcript. The messages' Seq and CreatedAt
// are set by the store.
type SeedSession struct {
	Owner    Owner
	At       Address
	NewID    SessionID // the id to use when At is a key without a session
	Profile  string    // the profile to use when At is an id without a session
	Messages []Message
	State    map[string]json.RawMessage
	Request  *Request
	Now      Time
}

// SeededSession is the answer to SeedSession.
type SeededSession struct {
	Session   Session
	Appended  int
	Duplicate bool
}

// CloseSession asks for the close of a session.
type CloseSession struct {
	Owner  Owner
	At     Address
	Reason string
	Now    Time
}

// ClosedSession is the answer to CloseSession.
type ClosedSession struct {
	Session Session
	Frames  []Frame
}

// ForkSession asks for a copy of a conversation in a new session.
type ForkSession struct {
	Owner      Owner
	At         Address
	ThroughSeq int64     // the last message copied; 0 means all
	NewID      SessionID // of the new session
	NewTarget  string    // its target key, "" for none
	Request    *Request
	Now        Time
}

// ForkedSession is the answer to ForkSession.
type ForkedSession struct {
	Session   Session
	Duplicate bool
}

// SettleRef changes what is known of a remote child.
type SettleRef struct {
	Parent Incarnation
	Child  SessionID
	Status RefStatus
	Now    Time
}

// DeleteSession asks for the end of a session, and by default of its tree.
type DeleteSession struct {
	Owner        Owner
	At           Address
	Children     ChildPolicy
	RejectIfBusy bool
	// OnlySettled refuses the delete while a turn of the session itself has not
	// ended. What the sessions below it do is of no account.
	OnlySettled bool
	Retire      *Retirement // nil unless retention asks
	Announce    bool        // keep what is deleted for Unheard
	TombstoneMs int64       // how long tombstones are kept, in milliseconds
	Now         Time
}

// ChildPolicy says what a delete does to local children.
type ChildPolicy string

// The policies. "" means Cascade.
const (
	Cascade ChildPolicy = "cascade" // they end too, and theirs
	Detach  ChildPolicy = "detach"  // they live on as roots
)

// Retirement is the condition of a delete that retention asks for: unless all of
// it holds for every session of the tree, the delete is CONFLICT. No session is
// busy or damaged, and none was active at Before or later.
type Retirement struct {
	Before Time
	Blank  bool // and none has had a turn
}

// ClearOwner asks for the end of all sessions of an owner.
type ClearOwner struct {
	Owner       Owner
	Announce    bool // as in DeleteSession
	TombstoneMs int64
	Now         Time
}

// DeletedSession names a session that a delete has ended.
type DeletedSession struct {
	Owner Owner
	ID    SessionID
	Fence Fence
}

// Compaction says what a compaction did.
type Compaction struct {
	BytesBefore int64    `json:"bytesBefore"` // of all files
	BytesAfter  int64    `json:"bytesAfter"`
	Files       []string `json:"files"` // absolute paths of the files and folders that hold the store
}

// Receipt says what a delete removed, counted as committed.
type Receipt struct {
	Sessions  int64            `json:"sessions"`
	Rows      map[string]int64 `json:"rows"` // by table
	Files     int64            `json:"files"`
	Complete  bool             `json:"complete"`
	Compacted bool             `json:"compacted,omitempty"`
}

// Plus returns the receipt of two removals, the second of which came last: it says
// whether the store was compacted.
func (r Receipt) Plus(last Receipt) Receipt {
	sum := Receipt{Sessions: r.Sessions + last.Sessions, Rows: maps.Clone(r.Rows), Files: r.Files + last.Files,
		Complete: r.Complete && last.Complete, Compacted: last.Compacted}
	if sum.Rows == nil {
		sum.Rows = map[string]int64{}
	}
	for table, rows := range last.Rows {
		sum.Rows[table] += rows
	}
	return sum
}

// AcceptTurn asks for the execution of a prompt.
type AcceptTurn struct {
	Owner   Owner
	At      Address
	Request Request
	TurnID  TurnID    // minted by the caller
	NewID   SessionID // the id to use when At is a key without a session
	// Begin, when not nil, makes the session when At is an id without one.
	Begin   *NewSession
	Content []Content // of the user message; nil with Retry
	Limits  TurnLimits
	// Inference is the turn's; with Retry that of the turn taken up counts.
	Inference Inference
	// Retry, when not nil, takes up the session's last turn instead of appending
	// a user message. It names that turn, or "" for whichever it is.
	Retry *TurnID
	// Fence is the caller's activation: its zero value asks for a new one, which
	// raises the session's epoch; otherwise it must be the stored one.
	Fence Fence
	// Refusal, when set, is returned once the duplicate check has passed and the
	// address exists: what the caller knows and the store does not.
	Refusal *Error
	// Generation, when not 0, must be the owner's: a clear-all since it was read
	// refuses the command with ErrFenced.
	Generation int64
	// Admitted says that the host has room for one more busy turn.
	Admitted bool
	// Busy says what becomes of the prompt while another turn of the session has
	// not ended. With Retry it is BusyReject.
	Busy BusyPolicy
	// QueueLimit is how many turns of the session may be queued, and how many texts
	// may wait for its active turn.
	QueueLimit int
	Now        Time
}

// NewSession is what a session begins with that is made for its first prompt.
type NewSession struct {
	Profile string
	AgentID AgentID // as in CreateSession
	Labels  map[string]string
	State   map[string]json.RawMessage // named values
}

// BusyPolicy says what becomes of a prompt to a session that is busy. To one
// that is not, all of them are the same.
type BusyPolicy string

// The policies. "" means BusyReject.
const (
	BusyReject    BusyPolicy = "reject"    // it is refused with AGENT_BUSY
	BusyQueue     BusyPolicy = "queue"     // it runs after those that came before it
	BusyInterrupt BusyPolicy = "interrupt" // it runs next, and the active turn is to be cancelled
	// BusySteer: its text enters the active turn before the next model call. When
	// there are only queued turns, it runs next.
	BusySteer BusyPolicy = "steer"
)

// BusyPolicies lists the policies.
func BusyPolicies() []BusyPolicy {
	return []BusyPolicy{BusyReject, BusyQueue, BusyInterrupt, BusySteer}
}

// AcceptedTurn is the answer to AcceptTurn. A prompt that is queued is answered
// with its queued turn, one that steers with the turn it steers; neither has a
// User or Frames yet.
type AcceptedTurn struct {
	Session   Session // as it is after the accept
	Turn      Turn
	Steers    bool // the text waits for the next model call of Turn
	Duplicate bool
	Created   bool // the accept made the session
	// User is the stored user message; nil on a duplicate.
	User *Message
	// Final is the answer of a duplicate whose turn has ended; nil if none.
	Final *Message
	// Frames are those the accept stored, in order.
	Frames []Frame
}

// CommitTurn carries a turn on by one step, and ends it if End is set.
type CommitTurn struct {
	Fence     Fence
	TurnID    TurnID
	RequestID RequestID
	Messages  []Message // Seq set, continuing the session's
	Frames    []FrameBody
	State     map[string]json.RawMessage
	// Summary, when not zero, stands from now on for more of the conversation in
	// what a model gets than the one before it did.
	Summary    Summary
	Usage      Usage  // consumed since the last commit
	Model      string // what consumed it
	Iterations int    // model calls of the turn so far
	// Resume marks the first write of an activation that takes up a turn which a
	// stop of the host cut short: it raises the session's epoch, and sets the turn's
	// ResumedAt.
	Resume *TurnResume
	End    *TurnEnd
	// Wait, when not empty, makes the turn wait for clients to answer these calls,
	// which are in call order. Its frame waiting is derived from it and stored
	// last. It is not for a commit with End.
	Wait []Pending
	// GoOn says that a turn that waits runs again, and sets its ResumedAt. Messages
	// may come with it.
	GoOn bool
	// Steer takes the text that waits for the turn into the history, behind
	// Messages: see CommittedTurn.Steered. It is not for a commit with Wait or End.
	Steer bool
	Now   Time
}

// Completed returns a message of the commit with what it has in common with it,
// where the message does not say otherwise: the turn and the time.
func (c CommitTurn) Completed(m Message) Message {
	m.TurnID = cmp.Or(m.TurnID, c.TurnID)
	m.CreatedAt = cmp.Or(m.CreatedAt, c.Now)
	return m
}

// StartTurn asks for the start of the first queued turn of a session that has
// no active one.
type StartTurn struct {
	Fence Fence // the caller's activation
	Now   Time
}

// WithdrawTurn asks for the end of a turn that is queued, or of a request whose
// text waits for a model call.
type WithdrawTurn struct {
	Fence     Fence
	RequestID RequestID
	// Failure, when not nil, is why the turn can never start: it ends as failed
	// with it rather than as cancelled.
	Failure    *ErrorInfo
	ClaimTTLMs int64
	Now        Time
}

// WithdrawnTurn is the answer to WithdrawTurn.
type WithdrawnTurn struct {
	Session Session
	Turn    Turn    // the turn that ended; of a text that waited, a turn of its own
	Frames  []Frame // those stored: the turn's terminal one
}

// TurnResume counts a try to take up a turn.
type TurnResume struct {
	Attempts int   // tries after an unclean stop, this one included
	AwayMs   int64 // for how long nobody ran the turn, at least 0; it is added to its WaitedMs
}

// CommittedTurn is the answer to CommitTurn.
type CommittedTurn struct {
	Frames  []Frame // as stored, in order, the terminal one last
	Session Session
	Turn    Turn
	// Steered are the messages that Steer has taken in, in the order of their
	// prompts, and SteeredBy the requests they came by.
	Steered   []Message
	SteeredBy []RequestID
	// Queued are the turns that text which the turn has not read has become, in the
	// order of their start.
	Queued []Turn
}
