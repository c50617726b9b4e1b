package sessions

import "context"

// Store keeps sessions. It is the port between the host and a database;
// persistence/storetest is its executable contract.
//
// Every method is safe for concurrent use. Every write is atomic: all of it is
// stored or none. When a write returns nil it is durable in the sense the store
// was opened with (by default it survives power loss). Errors are *Error with a
// Code; a driver's text appears only as the Cause. Any method may answer
// STORE_UNAVAILABLE, which means that nothing was changed as far as the caller
// will ever see, except where ErrOutcomeUnknown says otherwise.
//
// A context bounds how long a caller waits, not what is written: when it ends
// while a write is under way, the method returns ErrOutcomeUnknown and the
// write may still land. Retrying the same command resolves it, as every command
// is either idempotent or fenced.
//
// What is returned belongs to the caller. What is passed in is not kept or
// changed.
type Store interface {
	SessionWriter
	TurnWriter
	SessionReader
	TurnReader
	RefStore
	UsageStore
	KeyStore
	AgentStore
	HostStore
}

// SessionWriter makes, changes and removes sessions.
type SessionWriter interface {
	// CreateSession stores a new session, or returns the stored one unchanged
	// with Created false when its id or key exists already. An id and a key of
	// two different sessions are CONFLICT. A claimed request id of another
	// request is REQUEST_CONFLICT.
	//
	// With a parent, the parent's ref is stored in the same transaction, and a
	// ref that the parent has for the same Call decides: its session is the one
	// returned. SESSION_NOT_FOUND when the parent, or that session, is no more, and
	// ErrFenced when the parent has another life than the Call.
	CreateSession(ctx context.Context, c CreateSession) (CreatedSession, error)

	// SetState stores or removes one named value of a session, whatever the
	// session is doing, and returns the value's new version. CONFLICT with
	// details.version when IfVersion is another, SESSION_CLOSED when closed,
	// SESSION_NOT_FOUND when there is none.
	SetState(ctx context.Context, c SetState) (version int64, err error)

	// ClaimRequest claims a request id of a session that there is, and tells which
	// turn it found there. A duplicate writes nothing and is told the turn that was
	// found the first time. Codes of AcceptTurn: REQUEST_CONFLICT, SESSION_DELETED,
	// SESSION_NOT_FOUND.
	ClaimRequest(ctx context.Context, c ClaimRequest) (ClaimedRequest, error)

	// UpdateSession changes title and labels, whatever the session's state.
	// SESSION_NOT_FOUND when there is none.
	UpdateSession(ctx context.Context, c UpdateSession) (Session, error)

	// SeedSession appends a transcript, creating the session when its address
	// (a key, or an id not in use) has none. AGENT_BUSY while a turn is not
	// terminal, SESSION_CLOSED when closed, SESSION_DAMAGED when damaged. A
	// repeat of a claimed request id appends nothing and returns the session with
	// Appended as stored. Fingerprint conflicts as in AcceptTurn.
	SeedSession(ctx context.Context, c SeedSession) (SeededSession, error)

	// CloseSession closes a session that has no active turn (AGENT_BUSY if it
	// has), raises its epoch and stores the frame session_closed. Turns that are
	// queued end as failed with SESSION_CLOSED, before that frame. A session that
	// is closed already is returned unchanged, without frames. SESSION_NOT_FOUND
	// when there is none.
	CloseSession(ctx context.Context, c CloseSession) (ClosedSession, error)

	// ForkSession copies messages into a new session of the same profile, up to
	// one of them or to the last step stored; calls that are open there get
	// results that say so. State, and with it the saved agent that the session was
	// made from, are copied with the last message only, and of summaries the newest
	// that stands for nothing else than what was copied.
	// SESSION_NOT_FOUND, SESSION_DAMAGED; INVALID_REQUEST when there is no such
	// message; CONFLICT when the new id or key is in use. A repeat of a claimed
	// request id returns the fork there is.
	ForkSession(ctx context.Context, c ForkSession) (ForkedSession, error)

	// DeleteSession hides and fences the session, and with Cascade its local
	// descendants, in one transaction: from its return on, no read finds them and
	// every write of their lives is ErrFenced. Their rows are removed before it
	// returns, in transactions of bounded size.
	//
	// The children of a session are those that its local refs name and those
	// whose parent it is and that were made as local, without those that a remote
	// ref of any session names; the session itself may be gone. With Detach, what
	// has it as its parent and was made as local has none afterwards.
	//
	// Nothing to end: Receipt nil and no error. CONFLICT, and nothing changed,
	// when Retire forbids it or, with RejectIfBusy, one of them is busy, which is
	// ErrTreeBusy, or with OnlySettled the session itself is, which is
	// ErrNotSettled.
	//
	// hidden, when not nil, is called once after the first transaction, before
	// rows are removed, with the sessions that ended.
	DeleteSession(ctx context.Context, c DeleteSession, hidden func([]DeletedSession)) (*Receipt, error)

	// ClearOwner does the same to every session of the owner, and raises the
	// owner's generation, so that a session made under an older one is refused.
	// hidden, when not nil, is called once after the first transaction: every life
	// of the owner up to the one it gets is over, with so many sessions.
	ClearOwner(ctx context.Context, c ClearOwner, hidden func(upTo Incarnation, count int64)) (Receipt, error)
}

// TurnWriter accepts and carries on turns.
type TurnWriter interface {
	// AcceptTurn runs the checks of a prompt in the contract's order (duplicate,
	// address, busy, admission), and stores claim, turn, user message and the
	// frames accepted, started and message in one transaction. With a key that
	// has no session, and with an id that has none if the command says what the
	// session is to Begin with, it creates the session in the same transaction.
	//
	// A duplicate is no error: Duplicate is set, Turn is the stored one, and
	// nothing is written. Codes: REQUEST_CONFLICT (the id names another
	// request), SESSION_DELETED (it names a request of a deleted life),
	// SESSION_NOT_FOUND, the command's Refusal, SESSION_CLOSED,
	// SESSION_DAMAGED, AGENT_BUSY, OVERLOADED (not Admitted), ErrFenced (the
	// command's Fence or Generation is over). None of them consumes the request id.
	//
	// A prompt to a busy session is stored as its Busy policy says: as a queued
	// turn (AGENT_BUSY when QueueLimit turns are queued), or as text that waits for
	// the active turn (AGENT_BUSY when as many texts do; it needs no room for a
	// busy turn). Its user message is kept aside until it enters the history; its
	// frames begin then. Queued turns start in the order of their accepts, but one
	// that interrupts comes before all others. A new activation raises the epoch
	// here too: it takes the active turn over.
	//
	// With Retry set, the turn takes up the session's last turn, which must have
	// failed, been cancelled or been interrupted: CONFLICT otherwise. No user
	// message is appended; User is nil.
	AcceptTurn(ctx context.Context, c AcceptTurn) (AcceptedTurn, error)

	// CommitTurn appends to a turn what it has produced, and ends it when End is
	// set: messages, frames, state, usage, and the statuses of turn and session
	// in one transaction. Message seqs must continue the session's exactly.
	// ErrFenced and ErrTurnEnded refuse the whole of it; a Summary that cannot
	// Follow the one before it is INTERNAL.
	//
	// A commit with Wait stores what the turn waits for; one with GoOn or End
	// forgets it, but keeps of each answer enough to tell the same from another for
	// as long as the session lives. The time between is added to the turn's
	// WaitedMs. One of frames alone leaves the wait as it is. A commit that MayFollow refuses is INTERNAL, as is a wait for a call
	// that was answered as the same kind before.
	//
	// At the end of a turn, text that still waits for it becomes the next turns,
	// in order and before those queued; if the turn was cancelled, the text ends
	// with it, and its claims name the turn that ended.
	CommitTurn(ctx context.Context, c CommitTurn) (CommittedTurn, error)

	// AnswerCalls stores what a client answers to calls of a turn that waits, and a
	// frame answered for each; all of them or none. The turn goes on waiting until a
	// commit with GoOn. The same answer again is no error, also after the call has
	// ended; another one is CONFLICT. A request that is claimed changes nothing, and is
	// REQUEST_CONFLICT or SESSION_DELETED as that of a prompt is. NOT_FOUND when the session has no such call, or
	// it has ended without that answer; INVALID_REQUEST when an answer is not of its
	// call's kind. SESSION_NOT_FOUND, SESSION_CLOSED, SESSION_DAMAGED.
	AnswerCalls(ctx context.Context, c AnswerCalls) (AnsweredCalls, error)

	// StartTurn starts the first queued turn as AcceptTurn would have: user
	// message and frames accepted, started and message in one transaction. found
	// is false when none is queued or a turn is active. ErrFenced, and
	// SESSION_DAMAGED when the session or the prompt is: its queued turns can only
	// be withdrawn then.
	StartTurn(ctx context.Context, c StartTurn) (started AcceptedTurn, found bool, err error)

	// WithdrawTurn ends a queued turn, or text that waits; found is false when the
	// request has neither any more. It works in a damaged session too. ErrFenced.
	WithdrawTurn(ctx context.Context, c WithdrawTurn) (withdrawn WithdrawnTurn, found bool, err error)
}

// SessionReader answers questions about sessions. Reads see every write that
// returned before they began.
type SessionReader interface {
	// Resolve says what an address means now; an address without a session is
	// no error. It reads no body and costs one index look-up.
	Resolve(ctx context.Context, owner Owner, at Address) (Resolution, error)
	// Over reports whether a life was a session once and is one no more.
	Over(ctx context.Context, life Incarnation) (bool, error)
	// Deleted reports whether the owner had a session of this id that was deleted,
	// for as long as its tombstone is kept. What ended before or in a clear of the
	// owner is as if it had never been.
	Deleted(ctx context.Context, owner Owner, id SessionID, now Time) (bool, error)
	// Session returns the session at the address, else SESSION_NOT_FOUND.
	Session(ctx context.Context, owner Owner, at Address) (Session, error)
	// Elsewhere reports whether another owner has a session at the address. It takes
	// as long when one has as when none has.
	Elsewhere(ctx context.Context, owner Owner, at Address) (bool, error)
	// Owners returns who has sessions, in order.
	Owners(ctx context.Context) ([]Owner, error)
	// Sessions returns one page of the owner's sessions, newest activity first,
	// ties by id descending, and of one id by owner descending. INVALID_REQUEST for
	// a cursor of another filter. With ByID, which goes with one owner, they are in
	// the order of their ids.
	Sessions(ctx context.Context, q SessionQuery) (SessionPage, error)
	// Messages returns messages of a life; SESSION_DAMAGED when a body fails its
	// checksum, SESSION_NOT_FOUND when the life is over.
	Messages(ctx context.Context, life Incarnation, q MessageQuery) (MessagePage, error)
	// Summary returns what stands for the beginning of the conversation in what a
	// model gets: the newest that was committed, zero when there is none. Who reads
	// it before the messages gets both of one time. Errors as Messages.
	Summary(ctx context.Context, life Incarnation) (Summary, error)
	// Retirable returns roots that a rule of retention names, those that were
	// active longest ago first. It is a proposal: only a delete with Retire
	// looks at whole trees.
	Retirable(ctx context.Context, q RetireQuery) (RetirePage, error)
	// Frames returns kept frames of a life, and tells which are missing, with
	// errors as Messages. Of a turn that is terminal the last frame is always kept
	// unless retention has cut it.
	Frames(ctx context.Context, life Incarnation, q FrameQuery) (FramePage, error)
	// State returns the named value, or all when name is "". Missing: empty map.
	State(ctx context.Context, life Incarnation, name string) (map[string]StateValue, error)
}

// RefStore keeps parents' records of sub-sessions. A life that is over is
// ErrFenced to its writers and SESSION_NOT_FOUND to its readers.
type RefStore interface {
	// AddRefs stores refs of a life and returns for each the one that is stored:
	// a ref that is there already for the same session, the same call (TurnID and
	// CallID), or the same companion (Host, ProfileKey and Name) is returned
	// unchanged. The same holds among the refs of one call. INVALID_REQUEST, and
	// nothing is stored, when one has no valid location.
	AddRefs(ctx context.Context, parent Incarnation, refs []Ref) ([]Ref, error)
	// SettleRef changes the status of a remote ref; NOT_FOUND when there is none. One
	// that is closed stays so, without an error: what is heard late of the child is
	// older than that.
	SettleRef(ctx context.Context, c SettleRef) error
	// RemoveRef forgets a remote ref. None is no error.
	RemoveRef(ctx context.Context, parent Incarnation, child SessionID) error
	// Refs returns the refs of a life, oldest first. SESSION_DAMAGED when one has
	// no valid location: it is never guessed.
	Refs(ctx context.Context, parent Incarnation) ([]Ref, error)
}

// UsageStore keeps sums of what was consumed, by day, model and kind: of a session
// for as long as it lives, and of its owner for good. CommitTurn adds to them too.
type UsageStore interface {
	// AddUsage adds what no turn's model call consumed. INVALID_REQUEST when it
	// does not pass its Check, ErrFenced when the life is over; nothing is added
	// then. It is not idempotent.
	AddUsage(ctx context.Context, c AddUsage) error
	// Usage returns sums in no order. Those of a tree are of the session and of
	// what a delete of it would take along. SESSION_NOT_FOUND when the life is over.
	Usage(ctx context.Context, q UsageQuery) ([]UsageSum, error)
}

// KeyStore keeps the keys by which callers prove who they are. Keys are the host's,
// not an owner's: a clear leaves them.
type KeyStore interface {
	// KeyHash returns the hash of a secret: always the same in one store, in another
	// store another one. It reads nothing.
	KeyHash(secret string) KeyHash
	// CreateKey stores a key. CONFLICT when its id or its hash is there already.
	CreateKey(ctx context.Context, key StoredKey) error
	// RevokeKey marks a key as revoked and returns it; one that is revoked already
	// stays as it is. ErrNoKey when there is none. A key is never forgotten.
	RevokeKey(ctx context.Context, id KeyID, now Time) (AccessKey, error)
	// Keys returns every key there ever was, oldest first.
	Keys(ctx context.Context) ([]StoredKey, error)
}

// AgentStore keeps what owners have saved to make sessions from. As keys it is
// configuration: neither a delete nor a clear of sessions touches it.
type AgentStore interface {
	// CreateAgent saves an agent, or returns the stored one unchanged with Created
	// false when its id exists already. PAYLOAD_TOO_LARGE when the owner has Most. A
	// repeat of a claimed request id stores nothing and returns the agent as it is
	// now; REQUEST_CONFLICT when the id was used to save another one, SESSION_DELETED
	// when the agent was deleted since. The claims of agents do not meet those of
	// sessions.
	CreateAgent(ctx context.Context, c CreateAgent) (CreatedAgent, error)
	// UpdateAgent replaces all of an agent but its id, owner and CreatedAt, and
	// returns it with its new Version. ErrNoAgent when there is none, and
	// ErrAgentChanged, without a write, when the stored one has another Version.
	UpdateAgent(ctx context.Context, a SavedAgent) (SavedAgent, error)
	// DeleteAgent removes an agent, and leaves of it a tombstone without any of its
	// texts. One that was removed before is no error and no write for as long as the
	// tombstone is kept; ErrNoAgent when there was none.
	DeleteAgent(ctx context.Context, c DeleteAgent) error
	// Agent returns an agent, else ErrNoAgent.
	Agent(ctx context.Context, owner Owner, id AgentID) (SavedAgent, error)
	// Agents returns agents of an owner in the order of their ids.
	Agents(ctx context.Context, q AgentQuery) ([]SavedAgent, error)
}

// TurnReader answers questions about turns and claims.
type TurnReader interface {
	// Turns returns one page of a life's turns, newest first unless Ascending.
	// NOT_FOUND when After is no turn of the life.
	Turns(ctx context.Context, life Incarnation, q TurnQuery) (TurnPage, error)
	// Turn returns the turn of a life, else NOT_FOUND.
	Turn(ctx context.Context, life Incarnation, id TurnID) (Turn, error)
	// TurnByRequest returns the latest turn of a life that a request id names,
	// else NOT_FOUND.
	TurnByRequest(ctx context.Context, life Incarnation, id RequestID) (Turn, error)
	// Claim returns the live claim or claim tombstone of a request id.
	Claim(ctx context.Context, owner Owner, id RequestID, now Time) (Claim, bool, error)
	// WaitedCalls returns what a turn waits for, and the answers there are; empty
	// when it does not wait. Errors as Messages.
	WaitedCalls(ctx context.Context, life Incarnation, id TurnID) (WaitedCalls, error)
	// BusyTurns returns every turn of the store that is not terminal, by index: the
	// active ones first, oldest first, then those queued, which are in the order of
	// their start within a session.
	BusyTurns(ctx context.Context) ([]BusyTurn, error)
}

// HostStore is what the host needs of its store as a whole.
type HostStore interface {
	// ClosedCleanly reports whether the store was closed, not left, by the last
	// process that had it; true for a new store.
	ClosedCleanly() bool
	// Describe names the store without secrets, such as "sqlite:agenthost.db".
	Describe() StoreInfo
	// CheckWritable does a small durable write; nil means the store is well.
	CheckWritable(ctx context.Context) error
	// Sweep removes what has expired by now (claims, tombstones) and what a
	// delete cut short by a crash has left. It works in bounded transactions.
	Sweep(ctx context.Context, now Time) error
	// Unheard returns up to limit of the sessions that were deleted with Announce
	// and are not Heard of yet, oldest first.
	Unheard(ctx context.Context, limit int) ([]DeletedSession, error)
	// Heard forgets sessions that Unheard has returned.
	Heard(ctx context.Context, heard []DeletedSession) error
	// Compact removes what deletes have left, then every byte of what was
	// removed, and gives the space back. Writes wait meanwhile. With dryRun it
	// changes nothing and says how large the store is and where. It is
	// STORE_UNAVAILABLE when there is too little room on the disk, or when a read
	// is in the way, and NOT_SUPPORTED by a store that cannot.
	Compact(ctx context.Context, dryRun bool) (Compaction, error)
	// Close waits for writes under way and releases the store. Later calls of
	// any method answer STORE_UNAVAILABLE; a second Close does nothing.
	Close() error
}

// StoreInfo describes a store to people.
type StoreInfo struct {
	Name       string // such as "sqlite:agenthost.db"
	Durability string // "power" or "process"
}
