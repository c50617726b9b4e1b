package sqlite

import "agenthost/sessions"

// steering is the text that a step takes into the history, behind its own
// messages.
type steering struct {
	texts    []pendingRow
	messages []sessions.Message
	sealed   []body
	bodies   []sessions.FrameBody
	rows     []frameRow
	by       []sessions.RequestID
}

// readSteering returns the text that waits for a turn, as it enters the history.
func (p *commitment) readSteering(t *tx, session *sessionRow, turn turnRow) (steering, error) {
	var s steering
	if !p.c.Steer || turn.steered == 0 {
		return s, nil
	}
	var err error
	if s.texts, err = pendingOf(t, p.c.Fence.Incarnation, turn.num); err != nil {
		return s, err
	}
	next := session.MessageCount + int64(len(p.messages)) + 1
	for i, text := range s.texts {
		m, err := text.message(turn.TurnID, next+int64(i), p.c.Now)
		if err != nil {
			return s, err
		}
		sealedBody, err := encodeMessage(m)
		if err != nil {
			return s, err
		}
		s.messages, s.sealed = append(s.messages, m), append(s.sealed, sealedBody)
		s.bodies = append(s.bodies, sessions.MessageAppended{Message: m})
		s.rows = append(s.rows, frameRow{kind: sessions.FrameMessage, messageSeq: m.Seq, body: emptyBody})
		s.by = append(s.by, text.turn.RequestID)
	}
	return s, nil
}

// store appends the messages; the frames are the step's.
func (s steering) store(t *tx, life sessions.Incarnation) error {
	for i, m := range s.messages {
		if err := insertMessage(t, life, m.Seq, m.CreatedAt, s.sealed[i]); err != nil {
			return err
		}
		if err := removePending(t, s.texts[i]); err != nil {
			return err
		}
	}
	return nil
}

// unread returns the text that a turn leaves behind at its end.
func (p *commitment) unread(t *tx, turn turnRow) ([]pendingRow, error) {
	if p.c.End == nil || turn.steered == 0 {
		return nil, nil
	}
	return pendingOf(t, p.c.Fence.Incarnation, turn.num)
}

// queueUnread makes the next turns of text that was left behind, in its order.
// A cancel ends it with the turn.
func (p *commitment) queueUnread(t *tx, owner sessions.Owner, left []pendingRow) (queued []sessions.Turn, err error) {
	life := p.c.Fence.Incarnation
	if len(left) == 0 {
		return nil, nil
	}
	if p.c.End.Status == sessions.TurnIsCancelled {
		for _, text := range left {
			if err := removePending(t, text); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	first, err := firstQueued(t, life)
	if err != nil {
		return nil, err
	}
	for _, text := range left {
		if _, err := insertTurn(t, life, text.turn); err != nil {
			return nil, err
		}
		if _, err := t.exec("UPDATE pending_prompts SET waits_for = 0, place = ? WHERE num = ?", front(first), text.num); err != nil {
			return nil, err
		}
		if _, err := t.exec("UPDATE dedupe_claims SET turn_id = ?, expires_ms = NULL WHERE owner = ? AND request_id = ? AND sid = ?",
			text.turn.TurnID, owner, text.turn.RequestID, life); err != nil {
			return nil, err
		}
		queued = append(queued, text.turn)
	}
	return queued, nil
}
