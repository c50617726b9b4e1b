package sessions

import "slices"

// TurnStatus is the durable state of a turn. A terminal one is final.
type TurnStatus string

// The states of a turn.
const (
	TurnIsQueued      TurnStatus = "queued"
	TurnIsRunning     TurnStatus = "running"
	TurnIsWaiting     TurnStatus = "waiting"
	TurnIsCompleted   TurnStatus = "completed"
	TurnIsFailed      TurnStatus = "failed"
	TurnIsCancelled   TurnStatus = "cancelled"
	TurnIsInterrupted TurnStatus = "interrupted"
)

// TurnStatuses lists the states of a turn in the order of its life.
func TurnStatuses() []TurnStatus {
	return []TurnStatus{TurnIsQueued, TurnIsRunning, TurnIsWaiting, TurnIsCompleted, TurnIsFailed, TurnIsCancelled, TurnIsInterrupted}
}

// Terminal reports whether the turn has ended for good.
func (s TurnStatus) Terminal() bool {
	return s == TurnIsCompleted || s == TurnIsFailed || s == TurnIsCancelled || s == TurnIsInterrupted
}

// turnMoves gives the states a turn may go to from each state.
var turnMoves = map[TurnStatus][]TurnStatus{
	TurnIsQueued:  {TurnIsRunning, TurnIsCancelled, TurnIsFailed, TurnIsInterrupted},
	TurnIsRunning: {TurnIsWaiting, TurnIsCompleted, TurnIsFailed, TurnIsCancelled, TurnIsInterrupted},
	TurnIsWaiting: {TurnIsRunning, TurnIsFailed, TurnIsCancelled, TurnIsInterrupted},
}

// CanBecome reports whether a turn in state s may go to state to. Nothing
// follows a terminal state: a late completion never overwrites a cancel, nor
// the reverse.
func (s TurnStatus) CanBecome(to TurnStatus) bool { return slices.Contains(turnMoves[s], to) }

// EndTrigger is what a session hears when its active turn ends as s, which must
// be terminal.
func (s TurnStatus) EndTrigger() Trigger {
	switch s {
	case TurnIsCompleted:
		return TurnCompleted
	case TurnIsCancelled:
		return TurnCancelled
	case TurnIsInterrupted:
		return TurnInterrupted
	default:
		return TurnFailed
	}
}

// Turn is one execution of one prompt.
type Turn struct {
	TurnID     TurnID     `json:"turnId"`
	RequestID  RequestID  `json:"requestId"`
	Status     TurnStatus `json:"status"`
	CreatedAt  Time       `json:"createdAt"`
	StartedAt  Time       `json:"startedAt,omitzero"`
	EndedAt    Time       `json:"endedAt,omitzero"`
	Iterations int        `json:"iterations"` // model calls made
	Attempts   int        `json:"attempts"`   // starts after an unclean stop
	Usage      Usage      `json:"usage"`
	Error      *ErrorInfo `json:"error,omitempty"`

	// Limits hold for this turn: the profile's, lowered by the request.
	Limits TurnLimits `json:"-"`
	// Inference holds for this turn: the request's over the profile's.
	Inference Inference `json:"-"`
	// WaitedMs is for how long the turn has not run since its start, in milliseconds:
	// it has waited for clients, or nobody was there to run it. The wait that began
	// at WaitingSince, which is 0 unless it waits now, is not in it.
	WaitedMs     int64 `json:"-"`
	WaitingSince Time  `json:"-"`
	// ResumedAt is when the turn last went on, after a wait or a stop of the host; 0
	// if it never did.
	ResumedAt Time `json:"-"`
	// FirstFrame and LastFrame are the seqs of the turn's first frame and, once
	// it is terminal, of its last; 0 when there is none yet.
	FirstFrame, LastFrame int64 `json:"-"`
	// UserSeq is the seq of the prompt's user message; 0 while queued.
	UserSeq int64 `json:"-"`
	// FinalSeq is the seq of the message that answered the prompt; 0 if none.
	FinalSeq int64 `json:"-"`
}

// TurnLimits bound one turn. They are stored with it, so that they hold after
// a restart under another configuration.
type TurnLimits struct {
	MaxIterations   int   // model calls
	PromptTimeoutMs int64 // milliseconds from started, waiting not counted
	WaitTimeoutMs   int64 // milliseconds of one wait for clients; 0 means no bound
}

// Usage counts what model calls consumed.
type Usage struct {
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
	CachedTokens int64 `json:"cachedTokens"` // part of InputTokens that the provider's cache served
	Calls        int64 `json:"calls"`        // model calls
}

// Plus returns the sum of u and v.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		InputTokens:  u.InputTokens + v.InputTokens,
		OutputTokens: u.OutputTokens + v.OutputTokens,
		CachedTokens: u.CachedTokens + v.CachedTokens,
		Calls:        u.Calls + v.Calls,
	}
}

// Minus returns what u has more than v.
func (u Usage) Minus(v Usage) Usage {
	return u.Plus(Usage{
		InputTokens: -v.InputTokens, OutputTokens: -v.OutputTokens,
		CachedTokens: -v.CachedTokens, Calls: -v.Calls,
	})
}
