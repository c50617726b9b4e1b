package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"

	"agenthost/sessions"
)

// callState is what one call has set of the session's state. It becomes part of
// the call's result, or of nothing. run.mu guards it.
type callState struct {
	index  int // of the call in its step
	path   string
	order  bool // the calls of the tool run one after the other
	set    map[string]json.RawMessage
	sealed bool // the call's result is known
}

// seal ends the call's writes. A call that fails has set nothing.
func (s *callState) seal(res *callResult) {
	s.sealed = true
	if res.err == nil {
		res.state = s.set
	}
}

// state is what the results of the step have set, the last in call order.
func (s *step) state() map[string]json.RawMessage {
	var all map[string]json.RawMessage
	for _, res := range s.results {
		if res == nil || len(res.state) == 0 {
			continue
		}
		if all == nil {
			all = map[string]json.RawMessage{}
		}
		maps.Copy(all, res.state)
	}
	return all
}

// keepState notes that what the results have set is stored.
func (s *step) keepState() {
	for _, res := range s.results {
		if res != nil {
			res.state = nil
		}
	}
}

// dropState makes a cut call of each that has set state: the state of a step that
// is not finished stays as it was, and the history must not say otherwise.
func (s *step) dropState() {
	for i, res := range s.results {
		if res != nil && len(res.state) > 0 {
			s.results[i] = &callResult{err: sessions.ErrCallCut.Info(), took: res.took}
		}
	}
}

// State returns a named value of the session's state, as the call finds it.
func (t runTurn) State(ctx context.Context, name string) (sessions.StateValue, bool, error) {
	pending, life := t.pending(name)
	var stored map[string]sessions.StateValue
	err := t.run.read(ctx, func() (err error) {
		stored, err = t.run.deps.store.State(ctx, life, name)
		return err
	})
	if err != nil {
		return sessions.StateValue{}, false, err
	}
	value, found := stored[name]
	if pending != nil {
		value.Value, found = bytes.Clone(pending), true
	}
	return value, found, nil
}

// pending returns what the call finds that is not stored yet, nil if nothing.
func (t runTurn) pending(name string) (json.RawMessage, sessions.Incarnation) {
	r := t.run
	r.mu.Lock()
	defer r.mu.Unlock()
	life := r.fence.Incarnation
	if value := t.state.set[name]; value != nil {
		return value, life
	}
	if !t.state.order || t.state.sealed || r.ended {
		return nil, life
	}
	for i := t.state.index - 1; i >= 0; i-- {
		if res := r.step.results[i]; res != nil && r.step.calls[i].Path == t.state.path && res.state[name] != nil {
			return res.state[name], life
		}
	}
	return nil, life
}

// SetState sets a named value of the session's state when the step is stored.
func (t runTurn) SetState(name string, value json.RawMessage) error {
	if err := sessions.CheckKeyPart("name", name); err != nil {
		return err
	}
	limit := t.run.deps.limits.StateBytes
	if size := int64(len(value)); size > limit {
		return sessions.TooLarge("stateBytes", limit,
			"The state %q would have %d bytes, more than the limit stateBytes of %d.", name, size, limit)
	}
	value, err := canonical(value)
	if err != nil {
		return sessions.Errorf(sessions.CodeInvalidRequest, "The value of the state %q %s.", name, err)
	}
	if string(value) == "null" {
		return sessions.Errorf(sessions.CodeInvalidRequest, "The state %q cannot be null; set an empty object.", name)
	}
	r := t.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.state.sealed || r.ended {
		return sessions.Errorf(sessions.CodeConflict, "The call has ended; it can set no state any more.")
	}
	if t.state.set == nil {
		t.state.set = map[string]json.RawMessage{}
	}
	t.state.set[name] = value
	return nil
}
