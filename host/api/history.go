package api

import "agenthost/sessions"

// Page sizes of $messages and $frames.
const (
	DefaultHistoryLimit = 100
	MaxHistoryLimit     = 1_000
)

// TurnsArgs asks for a page of a session's turns, newest first.
type TurnsArgs struct {
	Address
	Limit  *int   `json:"limit,omitempty"` // 1 to MaxPageLimit, nil DefaultPageLimit
	Cursor string `json:"cursor,omitempty" strict:"nonempty"`
	// After and Ascending are for callers within the program; see sessions.TurnQuery.
	After     sessions.TurnID `json:"-"`
	Ascending bool            `json:"-"`
}

// TurnsResult is one page of turns.
type TurnsResult struct {
	Turns      []sessions.Turn `json:"turns"`                // never nil
	NextCursor string          `json:"nextCursor,omitempty"` // "" on the last page
}

// PageLimit returns the page size asked for, or its default.
func (a TurnsArgs) PageLimit() int { return orDefault(a.Limit, DefaultPageLimit) }

// MessagesArgs asks for messages of a session by seq, both bounds exclusive.
type MessagesArgs struct {
	Address
	AfterSeq  *int64 `json:"afterSeq,omitempty"`  // 0 or more, nil from the first
	BeforeSeq *int64 `json:"beforeSeq,omitempty"` // 1 or more, nil to the last
	Order     Order  `json:"order,omitempty" strict:"nonempty"`
	Limit     *int   `json:"limit,omitempty"` // 1 to MaxHistoryLimit, nil DefaultHistoryLimit
}

// MessagesResult is a range of messages.
type MessagesResult struct {
	Messages []sessions.Message `json:"messages"` // never nil
	HasMore  bool               `json:"hasMore"`  // more lie within the bounds
}

// PageLimit returns the page size asked for, or its default.
func (a MessagesArgs) PageLimit() int { return orDefault(a.Limit, DefaultHistoryLimit) }

// Query returns the question as stores know it.
func (a MessagesArgs) Query() sessions.MessageQuery {
	return sessions.MessageQuery{
		AfterSeq:   orDefault(a.AfterSeq, 0),
		BeforeSeq:  orDefault(a.BeforeSeq, 0),
		Descending: a.Order == Descending,
		Limit:      a.PageLimit(),
	}
}

// FramesArgs asks for kept frames of a session between two cursors, both
// exclusive.
type FramesArgs struct {
	Address
	RequestID sessions.RequestID `json:"requestId,omitempty" strict:"nonempty"` // only its latest turn's
	After     sessions.Cursor    `json:"after,omitempty" strict:"nonempty"`     // "" from the start
	Before    sessions.Cursor    `json:"before,omitempty" strict:"nonempty"`    // "" to the end
	Order     Order              `json:"order,omitempty" strict:"nonempty"`
	Limit     *int               `json:"limit,omitempty"` // 1 to MaxHistoryLimit, nil DefaultHistoryLimit
}

// FramesResult is a range of frames.
type FramesResult struct {
	Frames  []sessions.Frame `json:"frames"`  // never nil
	HasMore bool             `json:"hasMore"` // more lie within the bounds
}

// PageLimit returns the page size asked for, or its default.
func (a FramesArgs) PageLimit() int { return orDefault(a.Limit, DefaultHistoryLimit) }

// StateArgs asks for a session's named values.
type StateArgs struct {
	Address
	Name string `json:"name,omitempty" strict:"nonempty"` // "" means all
}

// StateResult holds the values by name.
type StateResult struct {
	State map[string]sessions.StateValue `json:"state"` // never nil; empty when the name is unknown
}
