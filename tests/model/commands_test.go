package model

import (
	"maps"
	"slices"

	"agenthost/sessions"
)

// The contract's answers to what does not start a turn.

// create is the contract's $sessionCreate.
func (c *contract) create(at address, request, mark, title string, below child) (s *session, made bool, _ sessions.Code) {
	if k := c.remembered(request); k != nil {
		switch {
		case k.mark != mark:
			return nil, false, sessions.CodeRequestConflict
		case k.buried:
			return nil, false, sessions.CodeSessionDeleted
		}
		return k.session, false, ""
	}
	byID, byKey := c.find(address{id: at.id}), c.find(address{key: at.key})
	switch {
	case byID != nil && byKey != nil && byID != byKey:
		return nil, false, sessions.CodeConflict
	case byID != nil:
		s = byID
	case byKey != nil:
		s = byKey
	default:
		holder := c.find(address{id: below.parent})
		if below.parent != "" && holder == nil {
			return nil, false, sessions.CodeSessionNotFound
		}
		s, made = c.bear(at), true
		s.title, s.parent, s.location, s.holder = title, below.parent, below.location, holder
	}
	c.remember(request, claim{mark: mark, session: s})
	return s, made, ""
}

// seed is the contract's $sessionSeed.
func (c *contract) seed(at address, request, mark string, said []message, state map[string]string) (*session, int, sessions.Code) {
	if k := c.remembered(request); k != nil {
		switch {
		case k.mark != mark:
			return nil, 0, sessions.CodeRequestConflict
		case k.buried:
			return nil, 0, sessions.CodeSessionDeleted
		}
		return k.session, k.appended, ""
	}
	s := c.find(at)
	switch {
	case s == nil:
		s = c.bear(at)
	case s.status == sessions.StatusClosed:
		return nil, 0, sessions.CodeSessionClosed
	case s.active() != nil:
		return nil, 0, sessions.CodeAgentBusy
	}
	for _, m := range said {
		s.say(m)
	}
	for name, json := range state {
		s.state[name] = value{s.state[name].version + 1, json}
	}
	c.touch(s)
	c.remember(request, claim{mark: mark, session: s, appended: len(said)})
	return s, len(said), ""
}

// setState is the contract's $stateSet; json "" removes.
func (c *contract) setState(at address, name, json string, ifVersion *int64) (int64, sessions.Code) {
	s := c.find(at)
	switch {
	case s == nil:
		return 0, sessions.CodeSessionNotFound
	case s.status == sessions.StatusClosed:
		return 0, sessions.CodeSessionClosed
	}
	v := s.state[name]
	visible := v.version
	if v.json == "" {
		visible = 0
	}
	if ifVersion != nil && *ifVersion != visible {
		return 0, sessions.CodeConflict
	}
	if json != "" || v.json != "" {
		s.state[name] = value{v.version + 1, json}
	}
	return s.state[name].version, ""
}

// cancel is the contract's $cancel.
func (c *contract) cancel(at address, request string) (bool, sessions.Code) {
	s := c.find(at)
	if s == nil {
		return false, sessions.CodeSessionNotFound
	}
	if s.active() == nil || request != "" && s.active().request != request {
		return request != "" && c.withdraw(s, request), ""
	}
	c.cut(s, sessions.TurnIsCancelled, sessions.CodeCancelled)
	c.next(s)
	return true, ""
}

// close is the contract's $sessionClose.
func (c *contract) close(at address, reason string) sessions.Code {
	s := c.find(at)
	switch {
	case s == nil:
		return sessions.CodeSessionNotFound
	case s.status == sessions.StatusClosed:
		return ""
	case s.active() != nil:
		c.cut(s, sessions.TurnIsCancelled, sessions.CodeCancelled)
	}
	for _, t := range s.queue {
		c.endUnbegun(t, sessions.TurnIsFailed, sessions.CodeSessionClosed)
	}
	s.queue = nil
	s.status, s.closedAt, s.closedReason = sessions.StatusClosed, c.now, reason
	return ""
}

// detach is the contract's $sessionDetach.
func (c *contract) detach(at address) sessions.Code {
	s := c.find(at)
	if s == nil {
		return sessions.CodeSessionNotFound
	}
	if s.active() != nil {
		c.cut(s, sessions.TurnIsInterrupted, sessions.CodeCancelled)
		s.status, s.lastError = sessions.StatusIdle, ""
		c.next(s)
	}
	return ""
}

// remove is the contract's $sessionDelete.
func (c *contract) remove(at address, reject, detach bool) (deleted int64, _ sessions.Code) {
	root := c.find(at)
	if root == nil {
		return 0, ""
	}
	ending := []*session{root}
	if !detach {
		ending = c.tree(root)
	}
	if reject && slices.ContainsFunc(ending, func(s *session) bool { return s.active() != nil }) {
		return 0, sessions.CodeConflict
	}
	for _, s := range ending {
		c.bury(s)
	}
	for _, s := range c.sessions {
		if detach && s.parent == root.id && s.location == sessions.Local {
			s.parent, s.location, s.holder = "", "", nil
		}
	}
	return int64(len(ending)), ""
}

// clear is the contract's $sessionClearAll.
func (c *contract) clear() (n int64) {
	for _, s := range slices.Clone(c.sessions) {
		c.bury(s)
		n++
	}
	return n
}

// bury ends a life. Of its claims those that are remembered leave tombstones.
func (c *contract) bury(s *session) {
	for request, k := range maps.Clone(c.claims) {
		switch {
		case k.session != s || k.buried:
		case c.remembered(request) == nil:
			delete(c.claims, request)
		case c.doubtful(request): // and so is its tombstone
			k.buried, k.expires, k.seen = true, c.now+tombstoneMs, c.now+tombstoneMs
		default:
			k.buried, k.expires, k.seen = true, c.now+tombstoneMs, c.now
		}
	}
	for _, t := range s.turns {
		if !t.status.Terminal() {
			t.code = sessions.CodeSessionDeleted
		}
	}
	c.sessions = slices.DeleteFunc(c.sessions, func(other *session) bool { return other == s })
}

// update is the contract's $sessionUpdate.
func (c *contract) update(at address, title *string, labels map[string]string) sessions.Code {
	s := c.find(at)
	if s == nil {
		return sessions.CodeSessionNotFound
	}
	if title != nil {
		s.title = *title
	}
	if labels != nil {
		s.labels = maps.Clone(labels)
	}
	return ""
}
