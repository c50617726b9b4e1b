package model

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"agenthost/sessions"
)

// op is what a client of a concurrent history does to its one key.
type op string

const (
	opCreate op = "create"
	opAccept op = "accept" // a prompt, until it is durable or refused
	opEnd    op = "end"    // the same prompt, until its turn has ended
	opCut    op = "cut"    // the first half of a close or a detach: it ends the turn
	opClose  op = "close"
	opDetach op = "detach"
	opGet    op = "get"
	opDelete op = "delete"
	opReject op = "delete unless busy"
)

// input is a command.
type input struct {
	op      op
	request string // of a prompt
}

// output is its answer, as far as the contract fixes it.
type output struct {
	code   sessions.Code
	id     sessions.SessionID // of the session that answered
	did    bool               // created, or deleted
	status sessions.Status
	turns  int64
}

// single is the sequential model of one key: no session, or an open or closed
// one. It is comparable, as porcupine wants its states.
type single struct {
	id     sessions.SessionID // "" for no session
	closed bool
	turns  int64
	active string // the request that runs
	ended  string // what others have ended, with the code that its caller gets
}

// linear is the model in porcupine's terms.
var linear = porcupine.Model{
	Init: func() any { return single{} },
	Step: func(state, in, out any) (bool, any) {
		next, ok := state.(single).step(in.(input), out.(output))
		return ok, next
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v → %+v", in, out) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

// step is the state after a command, and whether the answer is right.
func (s single) step(in input, out output) (single, bool) {
	switch in.op {
	case opCreate:
		if s.id != "" {
			return s, out == output{id: s.id}
		}
		return single{id: out.id, ended: s.ended}, out.code == "" && out.did
	case opAccept:
		return s.accept(in.request, out)
	case opEnd:
		return s.end(in.request, out.code)
	case opDelete, opReject:
		return s.remove(in.op == opReject, out)
	case opCut:
		return s.cut(sessions.CodeCancelled), true
	}
	if s.id == "" {
		// A close or a detach that met a delete on its way hears of that.
		met := in.op != opGet && out == output{code: sessions.CodeSessionDeleted}
		return s, met || out == output{code: sessions.CodeSessionNotFound}
	}
	if in.op != opGet && s.active != "" {
		return s, false // nothing begins between the halves
	}
	s.closed = s.closed || in.op == opClose
	return s, out == output{id: s.id, status: s.status(), turns: s.turns}
}

func (s single) accept(request string, out output) (single, bool) {
	switch {
	case out.code == sessions.CodeSessionDeleted:
		return s, true // of a life that is over; it has to meet a delete on its way
	case s.closed:
		return s, out.code == sessions.CodeSessionClosed
	case s.active != "":
		return s, out.code == sessions.CodeAgentBusy
	case s.id == "":
		return single{id: out.id, active: request, ended: s.ended}, out.code == ""
	}
	s.active = request
	return s, out == output{id: s.id}
}

// end is the end of a turn: its own, or what its caller hears of another's.
func (s single) end(request string, code sessions.Code) (single, bool) {
	if strings.Contains(s.ended, mark(request, code)) {
		return s, true
	}
	if s.active != request || code != "" {
		return s, false
	}
	s.active = ""
	s.turns++
	return s, true
}

func (s single) remove(reject bool, out output) (single, bool) {
	switch {
	case s.id == "":
		return s, out == output{}
	case reject && s.active != "":
		return s, out == output{code: sessions.CodeConflict}
	}
	return single{ended: s.cut(sessions.CodeSessionDeleted).ended}, out == output{did: true}
}

// cut ends the turn that runs from outside.
func (s single) cut(code sessions.Code) single {
	if s.active != "" {
		s.ended += mark(s.active, code)
		s.active = ""
		s.turns++
	}
	return s
}

func mark(request string, code sessions.Code) string { return fmt.Sprintf("%s=%s;", request, code) }

func (s single) status() sessions.Status {
	switch {
	case s.closed:
		return sessions.StatusClosed
	case s.active != "":
		return sessions.StatusRunning
	case s.turns == 0:
		return sessions.StatusCreated
	default:
		return sessions.StatusIdle
	}
}
