package model

import (
	"slices"

	"agenthost/sessions"
)

// accept is the contract's answer to a request that starts a turn: the turn it
// means and whether it was there before, or a refusal.
type accept struct {
	code      sessions.Code
	session   *session
	turn      *turn
	duplicate bool
	told      *turn // whose request id the host may have to choose; nil for that of turn
}

// start is a prompt, or a retry when it has no text.
type start struct {
	at      address
	request string
	mark    string
	text    string
	turn    sessions.TurnID // of a retry: which turn, "" for whichever is the last
	limit   int             // 0: the profile's
	busy    sessions.BusyPolicy
}

// start runs a turn as far as it goes.
func (c *contract) start(r start) accept {
	if k := c.remembered(r.request); k != nil {
		switch {
		case k.mark != r.mark:
			return accept{code: sessions.CodeRequestConflict}
		case k.buried:
			return accept{code: sessions.CodeSessionDeleted}
		}
		return accept{code: k.turn.code, session: k.session, turn: k.turn, duplicate: true}
	}
	s := c.find(r.at)
	isRetry := r.text == ""
	switch {
	case s == nil && (r.at.id != "" || isRetry):
		return accept{code: sessions.CodeSessionNotFound}
	case s == nil:
		s = c.bear(r.at)
	case s.status == sessions.StatusClosed:
		return accept{code: sessions.CodeSessionClosed}
	}
	t := &turn{request: r.request, text: r.text, status: sessions.TurnIsQueued, limit: r.limit}
	if t.limit == 0 {
		t.limit = maxIterations
	}
	if s.active() != nil {
		return c.keepAside(s, t, r)
	}
	if n := len(s.begun); isRetry && (n == 0 || s.begun[n-1].status == sessions.TurnIsCompleted || r.turn != "" && s.begun[n-1].id != r.turn) {
		return accept{code: sessions.CodeConflict}
	}
	s.turns = append(s.turns, t)
	c.touch(s)
	c.remember(r.request, claim{mark: r.mark, session: s, turn: t, asked: r})
	c.begin(s, t)
	return accept{code: t.code, session: s, turn: t}
}

// begin starts a turn and runs it as far as it goes.
func (c *contract) begin(s *session, t *turn) {
	if t.text != "" {
		s.say(message{role: sessions.RoleUser, text: t.text})
	}
	t.begun, t.status = true, sessions.TurnIsRunning
	s.begun, s.status = append(s.begun, t), sessions.StatusRunning
	c.run(s)
}

// keepAside keeps a prompt for a session whose turn is held.
func (c *contract) keepAside(s *session, t *turn, r start) accept {
	busy := accept{code: sessions.CodeAgentBusy}
	told := accept{session: s, turn: t}
	k := claim{mark: r.mark, session: s, turn: t, asked: r}
	switch r.busy {
	case sessions.BusySteer:
		if len(s.texts) >= queueLimit {
			return busy
		}
		s.texts = append(s.texts, t)
		k.turn, k.text = s.active(), t
		told.turn, told.told = s.active(), t
	case sessions.BusyQueue, sessions.BusyInterrupt:
		if len(s.queue) >= queueLimit {
			return busy
		}
		s.turns = append(s.turns, t)
		if r.busy == sessions.BusyQueue {
			s.queue = append(s.queue, t)
		} else {
			s.queue = slices.Insert(s.queue, 0, t)
		}
	default:
		return busy
	}
	c.touch(s)
	c.remember(r.request, k)
	if r.busy == sessions.BusyInterrupt {
		c.cut(s, sessions.TurnIsCancelled, sessions.CodeCancelled)
		c.next(s)
	}
	told.code = told.turn.code
	return told
}

// readTexts takes what waits for the turn into the history.
func (s *session) readTexts() {
	for _, t := range s.texts {
		s.say(message{role: sessions.RoleUser, text: t.text})
	}
	s.texts = nil
}

// leaveTexts decides, at the end of a turn, about text that it has not read.
func (c *contract) leaveTexts(s *session, as sessions.TurnStatus) {
	left := s.texts
	s.texts = nil
	if as == sessions.TurnIsCancelled {
		return
	}
	s.turns = append(s.turns, left...)
	s.queue = append(left, s.queue...)
	for _, t := range left {
		for _, k := range c.claims {
			if k.text == t {
				k.turn, k.text = t, nil
			}
		}
	}
}

// withdraw ends a prompt that waits, and reports whether there is one.
func (c *contract) withdraw(s *session, request string) bool {
	is := func(t *turn) bool { return t.request == request }
	switch i, j := slices.IndexFunc(s.queue, is), slices.IndexFunc(s.texts, is); {
	case i >= 0:
		c.endUnbegun(s.queue[i], sessions.TurnIsCancelled, sessions.CodeCancelled)
		s.queue = slices.Delete(s.queue, i, i+1)
	case j >= 0:
		t := s.texts[j]
		s.texts = slices.Delete(s.texts, j, j+1)
		s.turns = append(s.turns, t)
		for _, k := range c.claims {
			if k.text == t {
				k.turn, k.text = t, nil
			}
		}
		c.endUnbegun(t, sessions.TurnIsCancelled, sessions.CodeCancelled)
	default:
		return false
	}
	return true
}

// endUnbegun ends a turn that has not started.
func (c *contract) endUnbegun(t *turn, as sessions.TurnStatus, code sessions.Code) {
	t.status, t.code = as, code
	c.claimsEnd(t)
}

// run lets the session's turn, and those queued behind it, go on until the last
// has ended or one comes to a closed gate.
func (c *contract) run(s *session) {
	c.play(s)
	c.next(s)
}

// next starts the first queued turn if none runs.
func (c *contract) next(s *session) {
	if s.active() == nil && len(s.queue) > 0 {
		t := s.queue[0]
		s.queue = slices.Clone(s.queue[1:])
		c.begin(s, t)
	}
}

func (c *contract) play(s *session) {
	t := s.active()
	t.held, t.inTool = "", ""
	for t.status == sessions.TurnIsRunning {
		prompt, n := s.position()
		m := script(prompt, n, c.ill)
		if m.hold && !c.released[prompt] {
			c.holdAt(t, prompt, "")
			return
		}
		if m.fail {
			if m.before != "" {
				s.say(message{role: sessions.RoleAssistant, text: m.before, interrupted: true})
			}
			c.end(s, sessions.TurnIsFailed, sessions.CodeLLMAPIFailure)
			return
		}
		t.iterations++
		s.say(message{role: sessions.RoleAssistant, text: m.before + m.text, calls: len(m.calls)})
		if len(m.calls) == 0 {
			t.final = m.before + m.text
			c.end(s, sessions.TurnIsCompleted, "")
			return
		}
		if c.call(s, t, prompt, m.calls) {
			return
		}
		s.readTexts()
	}
}

// call runs a step's calls, and reports whether the turn ends or is held there.
func (c *contract) call(s *session, t *turn, prompt string, paths []string) bool {
	failAll := func(code sessions.Code) bool {
		for range paths {
			s.say(message{role: sessions.RoleTool, failed: true})
		}
		c.end(s, sessions.TurnIsFailed, code)
		return true
	}
	if t.iterations >= t.limit {
		return failAll(sessions.CodeMaxIterations)
	}
	for _, path := range paths {
		if path == strayPath {
			return failAll(sessions.CodeToolScopeViolation)
		}
		if (path == workPath || path == safePath) && !c.released[prompt] {
			c.holdAt(t, prompt, path)
			return true
		}
		s.say(message{role: sessions.RoleTool, failed: path == brokenPath})
	}
	return false
}

func (c *contract) holdAt(t *turn, prompt, tool string) {
	t.held, t.inTool = prompt, tool
	c.arrivals[prompt]++
}

// end ends the session's turn.
func (c *contract) end(s *session, as sessions.TurnStatus, code sessions.Code) {
	t := s.active()
	t.status, t.code, t.held, t.inTool = as, code, "", ""
	s.status, s.lastError = sessions.StatusIdle, ""
	if as == sessions.TurnIsFailed || as == sessions.TurnIsInterrupted {
		s.status, s.lastError = sessions.StatusFailed, code
	}
	c.touch(s)
	c.leaveTexts(s, as)
	c.claimsEnd(t)
}

// cut ends a turn that is held: what it has said so far stays, and the call it
// is in gets a result that says so.
func (c *contract) cut(s *session, as sessions.TurnStatus, code sessions.Code) {
	prompt, n := s.position()
	text := script(prompt, n, c.ill).before
	switch t := s.active(); {
	case t.inTool != "":
		s.say(message{role: sessions.RoleTool, failed: true})
	case text != "" && code != sessions.CodeCrashLoop: // a stop loses what was not durable yet
		s.say(message{role: sessions.RoleAssistant, text: text, interrupted: true})
	}
	c.end(s, as, code)
}

// release opens a gate and lets the turns behind it go on, in the order of the
// sessions.
func (c *contract) release(prompt string) (freed []*session) {
	c.released[prompt] = true
	for _, s := range c.sessions {
		if t := s.active(); t != nil && t.held == prompt {
			c.finishCall(s, t)
			c.run(s)
			freed = append(freed, s)
		}
	}
	return freed
}

func (c *contract) finishCall(s *session, t *turn) {
	if t.inTool != "" {
		s.say(message{role: sessions.RoleTool})
		s.readTexts()
	}
}

// restart is a stop of the host and its next start: turns are taken up where
// their last step left them, unless a call was under way that must not be
// repeated. After an unclean stop the tries are counted.
func (c *contract) restart(clean bool) (looped []looped) {
	c.newest = 0
	for _, s := range c.sessions {
		c.newest = max(c.newest, s.activeAt)
	}
	for _, s := range c.sessions {
		t := s.active()
		if t == nil {
			continue
		}
		if t.inTool == workPath {
			c.cut(s, sessions.TurnIsInterrupted, sessions.CodeHostRestarted)
			c.next(s)
			continue
		}
		if !clean {
			t.attempts++
		}
		if t.attempts > 3 {
			t.attempts = 3
			looped = append(looped, c.loopEnd(s))
			c.next(s)
			continue
		}
		if t.inTool == "" && len(s.texts) > 0 { // it is read before the model is asked again
			s.readTexts()
			c.run(s)
			continue
		}
		c.arrivals[t.held]++
	}
	return looped
}

// looped is a turn that is not taken up again. Whether the text it was held in
// stands in the history, behind so many messages, depends on the time that it was
// held for.
type looped struct {
	session *session
	after   int
	text    string
}

func (c *contract) loopEnd(s *session) looped {
	prompt, n := s.position()
	end := looped{session: s, text: script(prompt, n, c.ill).before}
	if s.active().inTool != "" {
		end.text = ""
	}
	c.cut(s, sessions.TurnIsFailed, sessions.CodeCrashLoop)
	end.after = len(s.messages)
	return end
}
