package sqlite

// cutAtOnce is how many frames a commit cuts at most, beside as many as it adds.
const cutAtOnce = 500

// retain cuts the session's oldest frames when there are more than it keeps. A
// turn that goes on keeps all of its own. It is the last that has any: of the
// session's other turns, those that have not ended are queued, without a frame.
func (p *commitment) retain(t *tx, session *sessionRow, turn turnRow) error {
	excess := session.LastFrame - session.firstFrame + 1 - p.keep
	if p.keep < 0 || excess <= 0 {
		return nil
	}
	first := session.firstFrame + min(excess, cutAtOnce+int64(len(p.frames)))
	if !turn.Status.Terminal() {
		first = min(first, turn.FirstFrame)
	}
	if first <= session.firstFrame {
		return nil
	}
	session.firstFrame = first
	life := session.Fence.Incarnation
	if _, err := t.exec("UPDATE sessions SET first_frame = ? WHERE sid = ?", first, life); err != nil {
		return err
	}
	return t.frames(session).drop(t, life, first)
}
