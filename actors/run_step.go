package actors

import (
	"encoding/json"
	"strings"
	"time"

	"agenthost/sessions"
)

// step is what a run has made since its last committed model answer: the text
// and the calls of one model call, then the results of the calls.
type step struct {
	number   int // of the model call within the turn, from 1
	attempt  int // of the model call among its repetitions, from 1
	text     strings.Builder
	kept     int // bytes of text that are durable as text frames
	flush    *time.Timer
	calls    []sessions.ToolCall
	answered bool                   // the model's answer is complete
	appended bool                   // the answer is part of the history
	results  []*callResult          // by call; nil while there is none
	started  bool                   // the calls may have begun
	asks     []sessions.PendingKind // by call, what it is to wait for before it may run; nil or "" for nothing
	usage    sessions.Usage         // reported for the model call
	counted  bool                   // usage is part of the run's
}

// callResult is what a call gave, and how long it took.
type callResult struct {
	output json.RawMessage
	err    *sessions.ErrorInfo
	took   time.Duration
	framed bool                       // its tool_result frame is durable
	state  map[string]json.RawMessage // what the call has set of the session's state
}

// message is the result as an entry of the history.
func (c *callResult) message(id sessions.CallID) sessions.Message {
	m := sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Error: c.err}
	if c.err == nil {
		m.Content = []sessions.Content{{Type: sessions.ContentJSON, Value: c.output}}
	}
	return m
}

func (c *callResult) frame(id sessions.CallID) sessions.FrameBody {
	return sessions.CallEnded{CallID: id, Output: c.output, Error: c.err, DurationMs: c.took.Milliseconds()}
}

// textFrame returns the step's text that is not durable yet as a frame, nil if
// there is none, and marks nothing.
func (s *step) textFrame() sessions.FrameBody {
	if s.kept == s.text.Len() {
		return nil
	}
	return sessions.TextPart{Step: s.number, Attempt: s.attempt, Offset: int64(s.kept), Text: s.text.String()[s.kept:]}
}

// answer is the model's answer as an entry of the history.
func (s *step) answer() sessions.Message {
	m := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: s.calls}
	if s.text.Len() > 0 {
		m.Content = sessions.Text(s.text.String())
	}
	return m
}

// unframed returns the results that have no tool_result frame yet, and their
// frames. Those that come with state are left out when they are early: they become
// durable together with it, or not at all.
func (s *step) unframed(early bool) (frames []sessions.FrameBody, of []*callResult) {
	for i, res := range s.results {
		if res != nil && !res.framed && (!early || len(res.state) == 0) {
			frames, of = append(frames, res.frame(s.calls[i].ID)), append(of, res)
		}
	}
	return frames, of
}

// ask notes what a call waits for.
func (s *step) ask(i int, kind sessions.PendingKind) {
	if kind == "" {
		return
	}
	if s.asks == nil {
		s.asks = make([]sessions.PendingKind, len(s.calls))
	}
	s.asks[i] = kind
}

// pending are the calls that wait for clients, in call order.
func (s *step) pending(since sessions.Time) (all []sessions.Pending) {
	for i, kind := range s.asks {
		if c := s.calls[i]; kind != "" && s.results[i] == nil {
			all = append(all, sessions.Pending{CallID: c.ID, Kind: kind, Path: c.Path, Args: c.Args, Since: since})
		}
	}
	return all
}

// fillAsked gives every call that waits and has no result one that says why.
func (s *step) fillAsked(why *sessions.Error) {
	for i, kind := range s.asks {
		if kind != "" && s.results[i] == nil {
			s.results[i] = &callResult{err: why.Info()}
		}
	}
}

// fill gives every call without a result one that says why.
func (s *step) fill(why *sessions.Error) {
	for i, res := range s.results {
		if res == nil {
			s.results[i] = &callResult{err: why.Info()}
		}
	}
}
