package actors

import "agenthost/sessions"

func (p *Prompt) owner() sessions.Owner { return p.Owner }

// address is what the prompt was sent to, or the session that it repeats the making of.
func (p *Prompt) address() sessions.Address {
	if p.found != "" {
		return sessions.Address{ID: p.found}
	}
	return p.At
}

// begins returns what makes the prompt's session; nil when it is to be there.
func (p *Prompt) begins() *sessions.NewSession {
	if p.found != "" {
		return nil
	}
	return p.Begin
}

// refuse answers the prompt's caller with err.
func (p *Prompt) refuse(err *sessions.Error) {
	p.tell(refusedAs(err))
	p.reply(PromptReply{Err: err})
}

// reply answers the prompt's caller.
func (p *Prompt) reply(r PromptReply) {
	p.leaveEdge()
	answer(p.Reply, r)
}

// leaveEdge lets the prompt out where it was let in.
func (p *Prompt) leaveEdge() {
	if p.edge != nil && !p.left.Swap(true) {
		p.edge.leave()
	}
}

// isGone reports whether nobody waits for the reply any more.
func (p *Prompt) isGone() bool {
	select {
	case <-p.Gone:
		return true
	default:
		return false
	}
}
