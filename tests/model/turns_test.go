package model

import (
	"agenthost/sessions"
)

// accept is the contract's answer to a request that starts a turn: the turn it
// means and whether it was there before, or a refusal.
type accept struct {
	code      sessions.Code
	session   *session
	turn      *turn
	duplicate bool
}

// start is a prompt, or a retry when it has no text.
type start struct {
	at      address
	request string
	mark    string
	text    string
	turn    sessions.TurnID // of a retry: which turn, "" for whichever is the last
	limit   int             // 0: the profile's
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
	case s.active() != nil:
		return accept{code: sessions.CodeAgentBusy}
	}
	if isRetry {
		n := len(s.turns)
		if n == 0 || s.turns[n-1].status == sessions.TurnIsCompleted || r.turn != "" && s.turns[n-1].id != r.turn {
			return accept{code: sessions.CodeConflict}
		}
	} else {
		s.say(message{role: sessions.RoleUser, text: r.text})
	}
	t := &turn{request: r.request, status: sessions.TurnIsRunning, limit: r.limit}
	if t.limit == 0 {
		t.limit = maxIterations
	}
	s.turns, s.status = append(s.turns, t), sessions.StatusRunning
	c.touch(s)
	c.remember(r.request, claim{mark: r.mark, session: s, turn: t, asked: r})
	c.run(s)
	return accept{code: t.code, session: s, turn: t}
}

// run lets the session's turn go on until it ends or comes to a closed gate.
func (c *contract) run(s *session) {
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
	if k := c.claimOf(t); k != nil {
		k.expires, k.seen = c.now+dedupMs, c.now
	}
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
	}
}

// restart is a stop of the host and its next start: turns are taken up where
// their last step left them, unless a call was under way that must not be
// repeated. After an unclean stop the tries are counted.
func (c *contract) restart(clean bool) (ended []*session) {
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
			ended = append(ended, s)
			continue
		}
		if !clean {
			t.attempts++
		}
		if t.attempts > 3 {
			t.attempts = 3
			c.cut(s, sessions.TurnIsFailed, sessions.CodeCrashLoop)
			ended = append(ended, s)
			continue
		}
		c.arrivals[t.held]++
	}
	return ended
}
