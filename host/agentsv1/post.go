package agentsv1

import (
	"net/http"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// postEvents takes the input of a session. All of it is checked before any of it
// is done.
func (v *visit) postEvents(n named) error {
	object, err := v.body()
	if err != nil {
		return err
	}
	key, err := v.idempotencyKey()
	if err != nil {
		return err
	}
	event, err := eventsOf(object)
	if err != nil {
		return err
	}
	in := &input{visit: v, claim: host.Claim{Address: n.at, RequestID: key.of("events"),
		Fingerprint: fingerprint("events of "+string(n.at.SessionID), object)}}
	if err := in.take(event); err != nil {
		return err
	}
	v.w.WriteHeader(http.StatusAccepted)
	return nil
}

// input is the events of one request on their way into a session.
type input struct {
	*visit
	claim host.Claim // without an id for a request that is never repeated
}

// take does what a request asks for, unless an equal one has done it before. Each
// kind is one write, its claim included; only a cancel is claimed first, so that a
// repeat ends the same turn and no later one.
func (in *input) take(event inputEvent) error {
	if sessions.CheckSessionID("", in.claim.SessionID) != nil {
		return notFound()
	}
	if done, err := in.repeats(event); done || err != nil {
		return err
	}
	err := in.do(event)
	if err == nil {
		return nil
	}
	// What an equal request has done since the first look is why this one cannot.
	if done, again := in.repeats(event); done || again != nil {
		return again
	}
	return err
}

// repeats reports whether an equal request was done before, and does what may be left
// of it.
func (in *input) repeats(event inputEvent) (done bool, err error) {
	if in.claim.RequestID == "" || event == nil {
		return false, nil
	}
	_, first, found, err := in.access.Claimed(in.ctx(), in.claim.RequestID, in.claim.Fingerprint)
	if _, stops := event.(stopped); found && stops {
		return true, in.stop(first)
	}
	return found, err
}

func (in *input) do(event inputEvent) error {
	s, err := in.session(in.claim.Address)
	if err != nil {
		return err
	}
	switch event := event.(type) {
	case said:
		return in.say(s, event)
	case stopped:
		target, err := in.target(s)
		if err != nil {
			return err
		}
		return in.stop(target)
	case answered:
		return in.answer(s, event)
	}
	return nil
}

// say sends a message.
func (in *input) say(s sessions.Session, event said) error {
	settings, err := settingsOf(in.ctx(), in.access, s)
	if err != nil {
		return err
	}
	args := settings.prompt(in.claim.Address, event.content)
	args.RequestID = in.claim.RequestID
	if event.instead {
		args.Busy = sessions.BusyInterrupt
	}
	_, err = in.access.PromptOnce(in.ctx(), &args, in.claim.Fingerprint)
	return err
}

// stop ends a turn, "" for none.
func (in *input) stop(turn sessions.TurnID) error {
	if turn == "" {
		return nil
	}
	_, err := in.access.CancelTurn(in.ctx(), in.claim.Address, turn)
	return err
}

// target returns the turn that a cancel means: the active one, else the first that is
// queued.
func (in *input) target(s sessions.Session) (sessions.TurnID, error) {
	if in.claim.RequestID != "" {
		got, err := in.access.ClaimRequest(in.ctx(), in.claim)
		return got.TurnID, err
	}
	if s.ActiveTurn != nil || s.Queued == 0 {
		return activeOf(s), nil
	}
	return in.firstQueued()
}

func activeOf(s sessions.Session) sessions.TurnID {
	if s.ActiveTurn == nil {
		return ""
	}
	return s.ActiveTurn.TurnID
}

// firstQueued returns the oldest queued turn.
func (in *input) firstQueued() (first sessions.TurnID, err error) {
	got, err := in.access.Turns(in.ctx(), &api.TurnsArgs{Address: in.claim.Address, Limit: new(maxLimit)})
	if err != nil {
		return "", err
	}
	for _, t := range got.Turns {
		if t.Status == sessions.TurnIsQueued {
			first = t.TurnID
		}
	}
	return first, nil
}
