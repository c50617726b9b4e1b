package sessions

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
)

// ClientTool is a tool that no host runs: a turn that calls it waits for a client
// to answer the call.
type ClientTool struct {
	Path        string          `json:"path"` // as in the tool tree
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"` // of its arguments, a JSON Schema of an object; nil for any
}

// CallAnswer is what a client gives to a call that waits for it. Exactly one of
// its fields is set.
type CallAnswer struct {
	Output  json.RawMessage `json:"output,omitempty"`  // what the client's tool gave, any JSON value without spaces between its parts
	Error   *string         `json:"error,omitempty"`   // why it gave nothing, for the model
	Approve *bool           `json:"approve,omitempty"` // whether the tool may run
}

// Answers reports whether a is of the kind that a call waits for.
func (a CallAnswer) Answers(kind PendingKind) bool {
	if kind == PendingApproval {
		return a.Approve != nil
	}
	return a.Approve == nil
}

// Digest tells answers apart: it is the same for two that say the same, however
// the parts of an output are ordered.
func (a CallAnswer) Digest() [sha256.Size]byte {
	a.Output = canonical(a.Output)
	text, _ := json.Marshal(a) // of valid JSON: cannot fail
	return sha256.Sum256(text)
}

// canonical writes a JSON value in the one way that all that equal it are written.
// What is none stays as it is.
func canonical(raw json.RawMessage) json.RawMessage {
	numbers := json.NewDecoder(bytes.NewReader(raw))
	numbers.UseNumber()
	var value any
	if numbers.Decode(&value) != nil {
		return raw
	}
	text, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return text
}

// GivenAnswer is the answer to one call.
type GivenAnswer struct {
	CallID CallID
	Answer CallAnswer
}

// AnswerCalls stores answers to calls that wait, at least one.
type AnswerCalls struct {
	Owner   Owner
	At      Address
	Answers []GivenAnswer
	Request *Request // claimed with the answers, and looked for before the calls; nil for none
	Now     Time
}

// Digests returns the digest of each answer, in order. They take time with the size
// of the answers, so a store makes them before it holds anyone up.
func (c AnswerCalls) Digests() [][sha256.Size]byte {
	digests := make([][sha256.Size]byte, len(c.Answers))
	for i, g := range c.Answers {
		digests[i] = g.Answer.Digest()
	}
	return digests
}

// Agree returns ErrOtherAnswer when the command, whose Digests are given, answers a
// call in two ways.
func (c AnswerCalls) Agree(digests [][sha256.Size]byte) error {
	type wait struct {
		call    CallID
		approve bool
	}
	said := make(map[wait][sha256.Size]byte, len(digests))
	for i, g := range c.Answers {
		of := wait{g.CallID, g.Answer.Approve != nil}
		if before, known := said[of]; known && before != digests[i] {
			return ErrOtherAnswer
		}
		said[of] = digests[i]
	}
	return nil
}

// AnsweredCalls is the answer to AnswerCalls.
type AnsweredCalls struct {
	Session Session // with the calls that still wait as its Pending
	TurnID  TurnID  // of the last answer's call
	Repeat  bool    // all of them were stored before
	Claimed bool    // by an equal request; the calls were not looked at
	Frames  []Frame // those stored: one answered for each new answer, in order
}

// MayFollow returns INTERNAL unless the step may be stored of a turn in a state
// that is not terminal: one that waits takes nothing but a step with GoOn or End, or
// one of frames alone, and others none with GoOn.
func (c CommitTurn) MayFollow(turn TurnStatus) error {
	leads := 0
	for _, on := range []bool{len(c.Wait) > 0, c.GoOn, c.End != nil} {
		if on {
			leads++
		}
	}
	waits := turn == TurnIsWaiting
	switch {
	case leads > 1:
		return Errorf(CodeInternal, "A step lets its turn wait, or go on, or end, and no two of these.")
	case c.Steer && (len(c.Wait) > 0 || c.End != nil):
		return Errorf(CodeInternal, "A step that lets its turn wait or end takes no more text in.")
	case waits && !c.EndsWait() && !c.onlyTells():
		return Errorf(CodeInternal, "The turn %q waits; a step that is more than frames has to let it go on or end.", c.TurnID)
	case !waits && c.GoOn:
		return Errorf(CodeInternal, "The turn %q does not wait and cannot go on from a wait.", c.TurnID)
	}
	return checkWait(c.Wait)
}

// EndsWait reports whether a turn that waits does so no more after the step.
func (c CommitTurn) EndsWait() bool { return c.GoOn || c.End != nil }

// onlyTells reports whether the step stores frames and changes nothing.
func (c CommitTurn) onlyTells() bool {
	return len(c.Frames) > 0 && len(c.Messages) == 0 && len(c.State) == 0 && len(c.Wait) == 0 &&
		!c.Steer && c.Summary == (Summary{}) && c.Resume == nil
}

// checkWait refuses calls that could not be told apart, or be answered.
func checkWait(calls []Pending) error {
	seen := map[CallID]bool{}
	for _, p := range calls {
		if seen[p.CallID] || p.Kind != PendingApproval && p.Kind != PendingClientTool {
			return Errorf(CodeInternal, "A turn cannot wait for the call %q as %q, or not twice.", p.CallID, p.Kind)
		}
		seen[p.CallID] = true
	}
	return nil
}

// WaitedCalls is what a turn waits for.
type WaitedCalls struct {
	Pending []Pending // answered or not, in call order
	Answers map[CallID]CallAnswer
}

// Answered reports whether no call waits any more.
func (w WaitedCalls) Answered() bool { return len(w.Answers) == len(w.Pending) }
