package scripted

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"agenthost/oracle"
	"agenthost/oracle/requestlog"
	"agenthost/sessions"
)

// StrictOracle is an oracle that refuses what a provider would refuse and
// keeps every request it saw.
type StrictOracle struct {
	inner oracle.Oracle
	log   requestlog.Log[oracle.Request]
}

// Strict wraps o. A request fails with LLM_API_FAILURE, and never reaches o, if
// in its history a tool call lacks its one result, a result its call, or an
// assistant message both text and calls; or if its tools are not in the order
// of their paths under unique names.
func Strict(o oracle.Oracle) *StrictOracle {
	return &StrictOracle{inner: o}
}

// Name returns the name of the wrapped oracle.
func (s *StrictOracle) Name() string { return s.inner.Name() }

// Infer records r, checks it and passes it on.
func (s *StrictOracle) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		kept := r
		kept.Messages, kept.Tools = slices.Clone(r.Messages), slices.Clone(r.Tools)
		s.log.Add(kept)
		if err := check(r); err != nil {
			yield(nil, sessions.Errorf(sessions.CodeLLMAPIFailure, "The model refused the request as invalid.").Because(err))
			return
		}
		s.inner.Infer(ctx, r)(yield)
	}
}

// Requests returns the requests so far, in the order of their arrival, refused
// ones too.
func (s *StrictOracle) Requests() []oracle.Request { return s.log.Requests() }

// Await waits until there were at least n requests, or returns ctx's error.
func (s *StrictOracle) Await(ctx context.Context, n int) error { return s.log.Await(ctx, n) }

// check returns what a provider would find wrong with r.
func check(r oracle.Request) error {
	if err := sessions.CheckPairing("/messages", r.Messages); err != nil {
		return err
	}
	for i, m := range r.Messages {
		if m.Role == sessions.RoleAssistant && len(m.Content)+len(m.ToolCalls) == 0 {
			return fmt.Errorf("message %d is an assistant's without text and calls", i)
		}
	}
	names := map[string]bool{}
	for i, t := range r.Tools {
		if i > 0 && strings.Compare(r.Tools[i-1].Path, t.Path) >= 0 {
			return fmt.Errorf("tool %q is out of order", t.Path)
		}
		if t.Name == "" || names[t.Name] {
			return fmt.Errorf("tool %q has no name of its own", t.Path)
		}
		names[t.Name] = true
	}
	return nil
}
