package actors

import (
	"context"

	"agenthost/sessions"
)

// expectText has the run look for text before its next model call.
func (r *run) expectText() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = true
}

// readTexts takes text that waits for the turn into the history, before a model
// call that no results come before: those would have brought it along.
func (r *run) readTexts(life context.Context) error {
	r.mu.Lock()
	expected := r.texts
	r.mu.Unlock()
	if !expected {
		return nil
	}
	return r.persist(life, func(c *sessions.CommitTurn) func() {
		r.texts, c.Steer = false, true // what is expected from now on may be too late for this commit
		return func() {}
	})
}

// noteRead remembers whose text a commit has taken in. Its frames are the
// commit's last. r.mu is held.
func (r *run) noteRead(done sessions.CommittedTurn) {
	frames := done.Frames[len(done.Frames)-len(done.SteeredBy):]
	for i, id := range done.SteeredBy {
		if r.readBy == nil {
			r.readBy = map[sessions.RequestID]int64{}
		}
		r.readBy[id] = frames[i].Seq
	}
}

// hasRead reports whether the turn has read the text of a request, and returns
// the seq of the frame that shows it.
func (r *run) hasRead(id sessions.RequestID) (frame int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	frame, ok = r.readBy[id]
	return frame, ok
}
