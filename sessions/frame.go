package sessions

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// FrameType names an activity event.
type FrameType string

// The types of frames. Session, delta and gap are never stored and have no seq.
const (
	FrameAccepted      FrameType = "accepted"
	FrameStarted       FrameType = "started"
	FrameText          FrameType = "text"
	FrameMessage       FrameType = "message"
	FrameToolCall      FrameType = "tool_call"
	FrameToolResult    FrameType = "tool_result"
	FrameUsage         FrameType = "usage"
	FrameSummary       FrameType = "summary"
	FrameWaiting       FrameType = "waiting"
	FrameAnswered      FrameType = "answered"
	FrameChild         FrameType = "child"
	FrameCompleted     FrameType = "completed"
	FrameFailed        FrameType = "failed"
	FrameCancelled     FrameType = "cancelled"
	FrameInterrupted   FrameType = "interrupted"
	FrameSessionClosed FrameType = "session_closed"
	FrameSession       FrameType = "session"
	FrameDelta         FrameType = "delta"
	FrameGap           FrameType = "gap"
)

// Terminal reports whether the frame ends its turn.
func (t FrameType) Terminal() bool {
	return t == FrameCompleted || t == FrameFailed || t == FrameCancelled || t == FrameInterrupted
}

// Frame is one activity event of a session. Numbered frames are durable before
// anyone is sent them; Seq counts from 1 per session without gaps.
type Frame struct {
	Seq       int64
	Cursor    Cursor // names the position after this frame
	TurnID    TurnID
	RequestID RequestID
	At        Time
	Body      FrameBody
}

// Type returns the type of the frame's body.
func (f Frame) Type() FrameType { return f.Body.frameType() }

// FrameBody is the part of a frame that depends on its type. The set is closed.
type FrameBody interface{ frameType() FrameType }

type (
	// Accepted: the prompt is durable. QueuedMs is set when it had to queue.
	Accepted struct {
		QueuedMs int64 `json:"queuedMs,omitempty"`
	}
	// Started: the turn runs; its time limit counts from here.
	Started struct{}
	// TextPart is streamed text made durable. Offset counts bytes of the step's text.
	TextPart struct {
		Step    int    `json:"step"`    // model calls of the turn before this one, plus 1
		Attempt int    `json:"attempt"` // 1, or more when the model call was repeated
		Offset  int64  `json:"offset"`
		Text    string `json:"text"`
	}
	// MessageAppended: the message is part of the history.
	MessageAppended struct {
		Message Message `json:"message"`
	}
	// CallStarted: a tool call is about to run.
	CallStarted struct {
		Call ToolCall `json:"call"`
	}
	// CallEnded: a tool call gave its result; Output or Error is set.
	CallEnded struct {
		CallID     CallID          `json:"callId"`
		Output     json.RawMessage `json:"output,omitempty"`
		Error      *ErrorInfo      `json:"error,omitempty"`
		DurationMs int64           `json:"durationMs"`
	}
	// UsageReported: what one model call consumed.
	UsageReported struct {
		Usage Usage `json:"usage"`
	}
	// Summarised: the conversation was more than the model's context window takes,
	// and models get a summary in place of its messages up to ThroughSeq from now on.
	Summarised struct {
		ThroughSeq int64  `json:"throughSeq"`
		Attempt    int    `json:"attempt"` // 1, or more when one was not enough for the same model call
		Text       string `json:"text"`
	}
	// Waiting: the turn needs clients to answer these calls.
	Waiting struct {
		Pending []Pending `json:"pending"`
	}
	// Answered: a client has answered a call; what it gave is told at the call's end.
	Answered struct {
		CallID CallID `json:"callId"`
	}
	// ChildChanged: a sub-session was started by the turn, or changed its status.
	ChildChanged struct {
		SessionID SessionID `json:"sessionId"`
		Location  Location  `json:"location"`
		Status    RefStatus `json:"status"`
	}
	// Completed: the turn ended with an answer.
	Completed struct{}
	// Failed: the turn ended with an error.
	Failed struct {
		Error *ErrorInfo `json:"error"`
	}
	// Cancelled: the turn was cancelled.
	Cancelled struct{}
	// Interrupted: the turn was cut by a stop of the host, or by a detach.
	Interrupted struct {
		Error *ErrorInfo `json:"error"`
	}
	// Closed: the session was closed.
	Closed struct{}
	// SessionChanged: something of one of the owner's sessions changed. It goes
	// to those who follow the owner, not the session.
	SessionChanged struct {
		Change    SessionChange `json:"change"`
		SessionID SessionID     `json:"sessionId,omitempty"` // "" when all of the owner's are meant
		Status    Status        `json:"status,omitempty"`    // "" when deleted
	}
	// Delta is text as the model streams it, not yet durable.
	Delta TextPart
	// Gap: frames From to To, inclusive, are not kept: cut by retention, or lost
	// with the power.
	Gap struct {
		From int64 `json:"from"`
		To   int64 `json:"to"`
	}
)

func (Accepted) frameType() FrameType        { return FrameAccepted }
func (Started) frameType() FrameType         { return FrameStarted }
func (TextPart) frameType() FrameType        { return FrameText }
func (MessageAppended) frameType() FrameType { return FrameMessage }
func (CallStarted) frameType() FrameType     { return FrameToolCall }
func (CallEnded) frameType() FrameType       { return FrameToolResult }
func (UsageReported) frameType() FrameType   { return FrameUsage }
func (Summarised) frameType() FrameType      { return FrameSummary }
func (Waiting) frameType() FrameType         { return FrameWaiting }
func (Answered) frameType() FrameType        { return FrameAnswered }
func (ChildChanged) frameType() FrameType    { return FrameChild }
func (Completed) frameType() FrameType       { return FrameCompleted }
func (Failed) frameType() FrameType          { return FrameFailed }
func (Cancelled) frameType() FrameType       { return FrameCancelled }
func (Interrupted) frameType() FrameType     { return FrameInterrupted }
func (Closed) frameType() FrameType          { return FrameSessionClosed }
func (SessionChanged) frameType() FrameType  { return FrameSession }
func (Delta) frameType() FrameType           { return FrameDelta }
func (Gap) frameType() FrameType             { return FrameGap }

// SessionChange says what happened to a session.
type SessionChange string

// The changes that an owner's followers are told.
const (
	SessionCreated SessionChange = "created"
	SessionUpdated SessionChange = "updated" // its status, title, labels or messages
	SessionGone    SessionChange = "deleted"
)

// frameHead is what all frames have in common on the wire.
type frameHead struct {
	Seq       int64     `json:"seq,omitempty"`
	Cursor    Cursor    `json:"cursor,omitempty"`
	TurnID    TurnID    `json:"turnId,omitempty"`
	RequestID RequestID `json:"requestId,omitempty"`
	At        Time      `json:"at,omitzero"`
	Type      FrameType `json:"type"`
}

// MarshalJSON writes the common fields and those of the body as one object.
func (f Frame) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(frameHead{f.Seq, f.Cursor, f.TurnID, f.RequestID, f.At, f.Type()})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(f.Body)
	if err != nil || len(body) == 2 {
		return head, err
	}
	head[len(head)-1] = ','
	return append(head, body[1:]...), nil
}

// UnmarshalJSON reads what MarshalJSON writes. Unknown fields are ignored, an
// unknown type is an error.
func (f *Frame) UnmarshalJSON(data []byte) error {
	var head frameHead
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	body, err := DecodeFrameBody(head.Type, data)
	if err != nil {
		return err
	}
	*f = Frame{head.Seq, head.Cursor, head.TurnID, head.RequestID, head.At, body}
	return nil
}

// frameDecoders reads the body of each type.
var frameDecoders = map[FrameType]func([]byte) (FrameBody, error){
	FrameAccepted:      decodeBody[Accepted],
	FrameStarted:       decodeBody[Started],
	FrameText:          decodeBody[TextPart],
	FrameMessage:       decodeBody[MessageAppended],
	FrameToolCall:      decodeBody[CallStarted],
	FrameToolResult:    decodeBody[CallEnded],
	FrameUsage:         decodeBody[UsageReported],
	FrameSummary:       decodeBody[Summarised],
	FrameWaiting:       decodeBody[Waiting],
	FrameAnswered:      decodeBody[Answered],
	FrameChild:         decodeBody[ChildChanged],
	FrameCompleted:     decodeBody[Completed],
	FrameFailed:        decodeBody[Failed],
	FrameCancelled:     decodeBody[Cancelled],
	FrameInterrupted:   decodeBody[Interrupted],
	FrameSessionClosed: decodeBody[Closed],
	FrameSession:       decodeBody[SessionChanged],
	FrameDelta:         decodeBody[Delta],
	FrameGap:           decodeBody[Gap],
}

// DecodeFrameBody reads a body of type t from a JSON object, which may hold
// other fields too.
func DecodeFrameBody(t FrameType, data []byte) (FrameBody, error) {
	decode, ok := frameDecoders[t]
	if !ok {
		return nil, fmt.Errorf("unknown frame type %q", t)
	}
	return decode(data)
}

func decodeBody[B FrameBody](data []byte) (FrameBody, error) {
	var body B
	if len(bytes.TrimSpace(data)) == 0 {
		return body, nil
	}
	err := json.Unmarshal(data, &body)
	return body, err
}
