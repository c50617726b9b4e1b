package sessions

import (
	"cmp"
	"reflect"
	"strings"
)

// Limits are the host's bounds. Each field's configuration name is what errors
// give as details.limit. Zero means the default.
type Limits struct {
	MessageBytes      int64 // messageBytes: one message's content from a client
	ToolResultBytes   int64 // toolResultBytes: the output of one tool call
	TurnTextBytes     int64 // turnTextBytes: all text a model produces in one turn
	CallsPerStep      int   // callsPerStep: tool calls in one model answer
	ContentParts      int   // contentParts: parts in one message
	BusyTurns         int   // busyTurns: turns not terminal in the whole host
	QueuedPrompts     int   // queuedPrompts: turns queued in one session
	Subscriptions     int   // subscriptions: in the whole host
	Labels            int   // labels: entries in one session's labels
	LabelBytes        int   // labelBytes: a label's name or value
	TitleBytes        int   // titleBytes: a session's title
	SeedMessages      int   // seedMessages: messages in one seed
	EnvelopeBytes     int64 // envelopeBytes: one request on the wire
	RequestsInFlight  int   // requestsInFlight: on one WebSocket
	StateBytes        int64 // stateBytes: one named value of a session's state
	ParallelToolCalls int   // parallelToolCalls: tools of one step running at a time
	FramesPerSession  int64 // framesPerSession: frames that a session keeps; older ones are cut
	SubagentDepth     int   // subagentDepth: levels of sub-agents below a session that is none, on all hosts
	Connections       int   // connections: open at one address
	SavedAgents       int   // savedAgents: saved by one owner
}

// DefaultLimits returns the limits of a host that configures none.
func DefaultLimits() Limits {
	return Limits{
		MessageBytes:      1 << 20,
		ToolResultBytes:   1 << 20,
		TurnTextBytes:     4 << 20,
		CallsPerStep:      128,
		ContentParts:      64,
		BusyTurns:         10_000,
		QueuedPrompts:     16,
		Subscriptions:     4_096,
		Labels:            32,
		LabelBytes:        256,
		TitleBytes:        1_024,
		SeedMessages:      10_000,
		EnvelopeBytes:     8 << 20,
		RequestsInFlight:  256,
		StateBytes:        1 << 20,
		ParallelToolCalls: 32,
		FramesPerSession:  100_000,
		SubagentDepth:     8,
		Connections:       8_192,
		SavedAgents:       1_000,
	}
}

// OrDefaults returns l with the default for each field that is zero.
func (l Limits) OrDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		MessageBytes:      cmp.Or(l.MessageBytes, d.MessageBytes),
		ToolResultBytes:   cmp.Or(l.ToolResultBytes, d.ToolResultBytes),
		TurnTextBytes:     cmp.Or(l.TurnTextBytes, d.TurnTextBytes),
		CallsPerStep:      cmp.Or(l.CallsPerStep, d.CallsPerStep),
		ContentParts:      cmp.Or(l.ContentParts, d.ContentParts),
		BusyTurns:         cmp.Or(l.BusyTurns, d.BusyTurns),
		QueuedPrompts:     cmp.Or(l.QueuedPrompts, d.QueuedPrompts),
		Subscriptions:     cmp.Or(l.Subscriptions, d.Subscriptions),
		Labels:            cmp.Or(l.Labels, d.Labels),
		LabelBytes:        cmp.Or(l.LabelBytes, d.LabelBytes),
		TitleBytes:        cmp.Or(l.TitleBytes, d.TitleBytes),
		SeedMessages:      cmp.Or(l.SeedMessages, d.SeedMessages),
		EnvelopeBytes:     cmp.Or(l.EnvelopeBytes, d.EnvelopeBytes),
		RequestsInFlight:  cmp.Or(l.RequestsInFlight, d.RequestsInFlight),
		StateBytes:        cmp.Or(l.StateBytes, d.StateBytes),
		ParallelToolCalls: cmp.Or(l.ParallelToolCalls, d.ParallelToolCalls),
		FramesPerSession:  cmp.Or(l.FramesPerSession, d.FramesPerSession),
		SubagentDepth:     cmp.Or(l.SubagentDepth, d.SubagentDepth),
		Connections:       cmp.Or(l.Connections, d.Connections),
		SavedAgents:       cmp.Or(l.SavedAgents, d.SavedAgents),
	}
}

// Check returns INVALID_REQUEST, naming the limit, if one is negative.
func (l Limits) Check() error {
	for field, value := range reflect.ValueOf(l).Fields() {
		if value.Int() < 0 {
			name := strings.ToLower(field.Name[:1]) + field.Name[1:]
			return InvalidField("/limits/"+name, "%s is %d; a limit is at least 1, or 0 for its default.", name, value.Int()).With("limit", name)
		}
	}
	return nil
}
