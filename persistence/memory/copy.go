package memory

import (
	"maps"
	"slices"

	"agenthost/sessions"
)

// What is stored shares nothing with what callers hold: these copy on the way in
// and on the way out.

func copyAll[T any](items []T, one func(T) T) []T {
	if items == nil {
		return nil
	}
	copied := make([]T, len(items))
	for i, item := range items {
		copied[i] = one(item)
	}
	return copied
}

// copySession also gives lists that are empty and not nil.
func copySession(s sessions.Session) sessions.Session {
	s.Labels, s.Pending = maps.Clone(s.Labels), copyAll(s.Pending, copyPending)
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	if s.Pending == nil {
		s.Pending = []sessions.Pending{}
	}
	if s.ActiveTurn != nil {
		s.ActiveTurn = new(*s.ActiveTurn)
	}
	s.LastError = copyError(s.LastError)
	return s
}

func copyPending(p sessions.Pending) sessions.Pending {
	p.Args = slices.Clone(p.Args)
	return p
}

func copyAnswer(a sessions.CallAnswer) sessions.CallAnswer {
	return sessions.CallAnswer{Output: slices.Clone(a.Output), Error: fresh(a.Error), Approve: fresh(a.Approve)}
}

func copyTurn(t sessions.Turn) sessions.Turn {
	t.Error, t.Inference = copyError(t.Error), copyInference(t.Inference)
	return t
}

func copyInference(i sessions.Inference) sessions.Inference {
	i.AnswerSchema = slices.Clone(i.AnswerSchema)
	i.ClientTools = copyAll(i.ClientTools, func(t sessions.ClientTool) sessions.ClientTool {
		t.Schema = slices.Clone(t.Schema)
		return t
	})
	i.Params.Temperature, i.Params.TopP, i.Params.Seed = fresh(i.Params.Temperature), fresh(i.Params.TopP), fresh(i.Params.Seed)
	return i
}

func fresh[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

func copyError(e *sessions.ErrorInfo) *sessions.ErrorInfo {
	if e == nil {
		return nil
	}
	copied := *e
	copied.Details = maps.Clone(e.Details)
	return &copied
}

func copyMessage(m sessions.Message) sessions.Message {
	m.Content = copyAll(m.Content, func(c sessions.Content) sessions.Content {
		c.Value = slices.Clone(c.Value)
		return c
	})
	m.ToolCalls = copyAll(m.ToolCalls, copyCall)
	m.Error = copyError(m.Error)
	return m
}

func copyCall(c sessions.ToolCall) sessions.ToolCall {
	c.Args = slices.Clone(c.Args)
	return c
}

func copyValue(v sessions.StateValue) sessions.StateValue {
	v.Value = slices.Clone(v.Value)
	return v
}

func copyFrame(f sessions.Frame) sessions.Frame {
	f.Body = copyBody(f.Body)
	return f
}

func copyBody(b sessions.FrameBody) sessions.FrameBody {
	switch b := b.(type) {
	case sessions.MessageAppended:
		return sessions.MessageAppended{Message: copyMessage(b.Message)}
	case sessions.CallStarted:
		return sessions.CallStarted{Call: copyCall(b.Call)}
	case sessions.CallEnded:
		b.Output, b.Error = slices.Clone(b.Output), copyError(b.Error)
		return b
	case sessions.Waiting:
		return sessions.Waiting{Pending: copyAll(b.Pending, copyPending)}
	case sessions.Failed:
		return sessions.Failed{Error: copyError(b.Error)}
	case sessions.Interrupted:
		return sessions.Interrupted{Error: copyError(b.Error)}
	default:
		return b // nothing in it is shared
	}
}
