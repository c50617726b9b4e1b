package api

import (
	"encoding/json"

	"agenthost/sessions"
)

// Subprotocol is the WebSocket subprotocol of this version of the protocol.
const Subprotocol = "agenthost.v1"

// MaxEnvelopeIDBytes is the longest envelope id, in bytes. It is unrelated to
// the request id of deduplication.
const MaxEnvelopeIDBytes = 128

// Request is what a client sends.
type Request struct {
	// ID is the client's name for the request on its connection; nil when it
	// gave none.
	ID *string `json:"id,omitempty"`
	// Op names the operation, such as "$prompt".
	Op Op `json:"op"`
	// Args is the object of arguments as given; nil when absent.
	Args json.RawMessage `json:"args,omitempty"`
}

// Reply is the one answer to a request: Result if OK, else Error.
type Reply struct {
	ID     *string             `json:"id"` // null when the request had no usable id
	OK     bool                `json:"ok"`
	Result json.RawMessage     `json:"result,omitempty"`
	Error  *sessions.ErrorInfo `json:"error,omitempty"`
}

// FrameEvent carries a frame that the request ID asked for. All of them come
// before its reply.
type FrameEvent struct {
	ID    *string        `json:"id"`
	Frame sessions.Frame `json:"frame"`
}

// SubEvent carries a frame of a subscription.
type SubEvent struct {
	Sub   string         `json:"sub"`
	Frame sessions.Frame `json:"frame"`
}

// EndEvent is the last event of a subscription.
type EndEvent struct {
	Sub string `json:"sub"`
	End End    `json:"end"`
}

// End says why a subscription ended and where to go on.
type End struct {
	Reason EndReason `json:"reason"`
	// Cursor is the position after the last frame that was sent.
	Cursor sessions.Cursor `json:"cursor,omitempty"`
}

// EndReason says why a subscription ended.
type EndReason string

// The reasons.
const (
	EndSlow     EndReason = "slow"     // the reader did not keep up; subscribe again after the cursor
	EndDeleted  EndReason = "deleted"  // the session was deleted
	EndClosed   EndReason = "closed"   // the session was closed
	EndStopping EndReason = "stopping" // the host is shutting down
)
