package actors

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.opentelemetry.io/otel/trace"

	"agenthost/actors/feed"
	"agenthost/sessions"
)

// PID is the address of an actor.
type PID = actor.PID

// Messages to the root. Programs that are actor systems themselves send them to
// System.Root; others use the methods of System, which also keep the edge's
// admission. A message belongs to the tree once sent, and nobody else changes or
// reads it then. Every reply channel needs a capacity of 1, is sent to exactly once and
// is never closed.
type (
	// Prompt asks a session for the execution of a prompt.
	Prompt struct {
		Owner   sessions.Owner
		At      sessions.Address // by key, a missing session is created
		Request sessions.Request // the claim: ID is required, TTLMs is set by the tree
		// Begin, when not nil, makes the session, whose id is a new one. A repeat of
		// the request has an id of its own, and is answered with the session there is.
		Begin   *sessions.NewSession
		Content []sessions.Content
		// Retry, when not nil, takes up the session's last turn, which must have
		// failed, been cancelled or been interrupted: the one named, or "" for
		// whichever it is. Content is nil then.
		Retry *sessions.TurnID
		// MaxIterations and PromptTimeoutMs lower the profile's limits; 0 keeps them.
		MaxIterations   int
		PromptTimeoutMs int64
		// Inference is what the prompt asks of models over what the profile asks.
		// With Retry the turn that is taken up has asked already.
		Inference sessions.Inference
		// Busy says what becomes of the prompt while the session has a turn that has
		// not ended; "" means sessions.BusyReject, and so does any with Retry.
		Busy sessions.BusyPolicy
		// UntilWaiting has the Reply come as soon as the turn waits for clients, if it
		// does not end before.
		UntilWaiting bool
		// Gone, if not nil, is closed when nobody waits for the Reply any more, which
		// may not come then. While the turn waits for clients its session need not stay
		// in memory.
		Gone <-chan struct{}
		// Stream, if not nil, is attached to the turn that answers the prompt: at its
		// first frame, at the first one kept if the prompt is a duplicate, or at the
		// message if it steers the turn. While the prompt waits it is not attached.
		Stream *feed.Subscription
		// Accepted, if not nil, hears once that the prompt is durable. It hears
		// nothing when the prompt is refused.
		Accepted chan<- PromptAccepted
		Reply    chan<- PromptReply
		// Trace is the span that the prompt's turn is part of; zero for none.
		Trace trace.SpanContext

		arrival
		edge     *admission         // where the prompt was let in; nil when sent by message
		left     atomic.Bool        // it has been let out
		found    sessions.SessionID // what a repeat with Begin means; "" until that is known
		observer Observer           // nil until the system has the prompt
		told     atomic.Bool        // the observer knows what became of it
	}

	// Cancel ends the active turn of a session, or withdraws a prompt that waits.
	// RequestID "" means whichever turn is active. With SideQuestion it ends the
	// session's side question, and nothing else.
	Cancel struct {
		Owner        sessions.Owner
		At           sessions.Address
		RequestID    sessions.RequestID
		SideQuestion bool
		Reply        chan<- CancelReply

		arrival
	}

	// Close closes a session, cancelling its turn.
	Close struct {
		Owner  sessions.Owner
		At     sessions.Address
		Reason string
		Reply  chan<- SessionReply

		arrival
	}

	// Detach ends a session's turn as interrupted and leaves the session idle.
	Detach struct {
		Owner sessions.Owner
		At    sessions.Address
		Reply chan<- SessionReply

		arrival
	}

	// Delete ends a session, by default with its local descendants, and removes
	// everything of them.
	Delete struct {
		Owner        sessions.Owner
		At           sessions.Address
		Children     sessions.ChildPolicy // "" means sessions.Cascade
		RejectIfBusy bool
		OnlySettled  bool                 // it is refused while the session's own turns go on
		Retire       *sessions.Retirement // nil unless retention asks
		Grace        time.Duration        // how long the answer waits for removal and actors; 0 means 5 s
		Reply        chan<- DeleteReply

		arrival
	}

	// ClearAll does so with every session of an owner.
	ClearAll struct {
		Owner sessions.Owner
		Grace time.Duration
		Reply chan<- DeleteReply
	}
)

// Answers to messages of the root.
type (
	// PromptAccepted says that the prompt is durable, or that it repeats one. The
	// turn of a prompt that steers is the one it steers.
	PromptAccepted struct {
		SessionID sessions.SessionID
		Turn      sessions.Turn
		Waits     bool // the prompt has not entered the history; its frames are yet to come
		Duplicate bool
		Cursor    sessions.Cursor // the position after the accept's frames
	}

	// PromptReply is the end of a prompt: of its turn, or the refusal of it. With
	// UntilWaiting it may be a turn that waits, which goes on.
	PromptReply struct {
		SessionID sessions.SessionID
		Turn      sessions.Turn // zero when the prompt was refused
		Duplicate bool
		Final     *sessions.Message  // the answer, nil if there is none
		Pending   []sessions.Pending // the calls that a turn waits for
		Err       *sessions.Error    // nil when the turn completed, or waits
	}

	// CancelReply says whether the message has cancelled what it means.
	CancelReply struct {
		Cancelled bool
		Err       *sessions.Error
	}

	// SessionReply is a session as it is after what was asked.
	SessionReply struct {
		Session sessions.Session
		Err     *sessions.Error
	}

	// DeleteReply says what was removed.
	DeleteReply struct {
		Receipt *sessions.Receipt // nil when there was no session
		Pending bool              // removal or actors outlast the grace period
		Err     *sessions.Error
	}
)

// request is what the root routes to a session. Only the root's own messages
// implement it.
type request interface {
	owner() sessions.Owner
	address() sessions.Address
	refuser
	arrived() *arrival
}

// refuser is a message whose sender waits for an answer.
type refuser interface {
	// refuse answers the sender with err.
	refuse(err *sessions.Error)
}

// arrival is a request's place in the order in which the root got them; 0
// before. It keeps the order of requests that name one session in two ways.
type arrival struct{ number uint64 }

func (a *arrival) arrived() *arrival { return a }

func (c *Cancel) owner() sessions.Owner      { return c.Owner }
func (c *Cancel) address() sessions.Address  { return c.At }
func (c *Cancel) refuse(err *sessions.Error) { answer(c.Reply, CancelReply{Err: err}) }

func (c *Close) owner() sessions.Owner      { return c.Owner }
func (c *Close) address() sessions.Address  { return c.At }
func (c *Close) refuse(err *sessions.Error) { answer(c.Reply, SessionReply{Err: err}) }

func (d *Detach) owner() sessions.Owner      { return d.Owner }
func (d *Detach) address() sessions.Address  { return d.At }
func (d *Detach) refuse(err *sessions.Error) { answer(d.Reply, SessionReply{Err: err}) }

func (d *Delete) owner() sessions.Owner      { return d.Owner }
func (d *Delete) address() sessions.Address  { return d.At }
func (d *Delete) refuse(err *sessions.Error) { answer(d.Reply, DeleteReply{Err: err}) }

func (c *ClearAll) refuse(err *sessions.Error) { answer(c.Reply, DeleteReply{Err: err}) }

// answer sends r unless the channel has its one answer already: an actor never
// blocks on a caller.
func answer[R any](to chan<- R, r R) {
	select {
	case to <- r:
	default:
	}
}

// Messages to the root from within the package: from agents, goroutines and the
// System.
type (
	resolved struct {
		entry *entry
		means sessions.Resolution
		err   error
	}
	// bound: the agent's first accept made or found its session.
	bound struct {
		agent *PID
		life  sessions.Incarnation
		id    sessions.SessionID
	}
	// idle: the agent has nothing to do and proposes to leave. handled counts
	// the requests it has taken from the root. A defunct agent must leave, once
	// it is not working any more; until then it sends back what it gets.
	idle struct {
		agent   *PID
		handled uint64
		defunct bool
		working bool
	}
	// closeAnswer: whether the agent closes for the deletion that has asked, as
	// its life is one that this has ended.
	closeAnswer struct {
		agent    *PID
		deletion *deletion
		closing  bool
	}
	// hidden: the store's first transaction of a deletion is durable.
	hidden struct {
		deletion *deletion
		count    int64                     // of sessions
		gone     []sessions.DeletedSession // of a delete
		upTo     sessions.Incarnation      // of a clear-all: the newest life it has ended
	}
	// deletionStored: the store is done with a deletion.
	deletionStored struct {
		deletion *deletion
		receipt  *sessions.Receipt
		err      error
	}
	// graceOver: a deletion's caller has waited long enough.
	graceOver struct{ deletion *deletion }
	// resume asks for the agent of a session whose turns the last host, or an agent
	// that has left, left unfinished.
	resume struct {
		session    sessions.Session
		active     *sessions.Turn  // nil when there is none
		queued     []sessions.Turn // in the order of their start
		interrupts bool            // the active turn is to be cancelled for one of them
		fresh      bool            // the active turn runs from now on, for the first time in this host
	}
	// alive asks whether the root handles messages.
	alive struct{ reply chan<- struct{} }
	// drain: no more requests; agents leave; done is closed when all have.
	drain struct {
		grace time.Duration
		done  chan<- struct{}
	}
)

// Messages to an agent, besides the requests that the root forwards.
type (
	// closeAgent ends the agent's work with err if its session's life, 0 when it
	// has none, is one that the deletion has ended.
	closeAgent struct {
		deletion *deletion
		ends     func(life sessions.Incarnation) bool
		err      *sessions.Error
	}
	// leave lets an agent finish its turn within grace, then stop.
	leave struct{ grace time.Duration }
	// accepted is the store's answer to an accept.
	accepted struct {
		prompt *Prompt
		fence  sessions.Fence // under which it was asked
		turn   sessions.AcceptedTurn
		err    error
	}
	// closedSession and detachedSession are the store's answers to what Close and
	// Detach asked.
	closedSession struct {
		request *Close
		done    sessions.ClosedSession
		err     error
	}
	detachedSession struct {
		request *Detach
		session sessions.Session
		err     error
	}
	// turnEnded: the end of a run is stored, or is not this run's to store.
	turnEnded struct {
		run    *run
		reply  PromptReply
		queued []sessions.Turn // which text that it has not read has become
	}
	// textsRead: a run has taken the text of prompts into its history.
	textsRead struct {
		run *run
		by  []sessions.RequestID
	}
	// startedNext is the store's answer to the start of a queued turn.
	startedNext struct {
		turn  sessions.AcceptedTurn
		found bool
		err   error
	}
	// startAgain: the store could not start a queued turn, and has had a pause.
	startAgain struct{}
	// withdrawn is the store's answer to the end of a prompt that waits.
	withdrawn struct {
		request sessions.RequestID
		cancel  *Cancel         // who has asked for it
		failure *sessions.Error // or why the turn cannot start
		fence   sessions.Fence  // under which it was asked
		done    sessions.WithdrawnTurn
		found   bool
		err     error
	}
	// leftBehind are the queued turns that an agent, which broke down, has left.
	leftBehind struct {
		session sessions.Session
		queued  []sessions.Turn
	}
	// unstored: a step or the end of a run waits for the store to come back.
	unstored struct {
		run *run
		err *sessions.Error
	}
	// brokeDown: a panic is dealt with; the agent goes on with what it holds.
	brokeDown struct{}
	// runGone: the goroutine of a run and all it started are gone.
	runGone struct{ run *run }
	// ticked: a timer of the agent fired; count tells an old timer from the
	// current one.
	ticked struct {
		what  timerKind
		count uint64
	}
)
