package sessions

// TurnEnd says how a turn ends. Its terminal frame is derived from it and
// stored last.
type TurnEnd struct {
	Status     TurnStatus // a terminal one
	Error      *ErrorInfo // nil for completed and cancelled
	FinalSeq   int64      // seq of the answer; 0 if none
	ClaimTTLMs int64      // milliseconds for which the request id is remembered
	// Detached says that the session is freed from the turn: it is idle
	// afterwards, whatever the turn's status, and its epoch is raised.
	Detached bool
}

// Frame returns the frame that tells of the end.
func (e TurnEnd) Frame() FrameBody {
	switch e.Status {
	case TurnIsCompleted:
		return Completed{}
	case TurnIsCancelled:
		return Cancelled{}
	case TurnIsInterrupted:
		return Interrupted{Error: e.Error}
	default:
		return Failed{Error: e.Error}
	}
}

// After returns the status of the session after the end. It is INTERNAL when
// turn and session are not in states that such an end may follow.
func (e TurnEnd) After(turn TurnStatus, session Status) (Status, error) {
	if !e.Status.Terminal() || !turn.CanBecome(e.Status) {
		return "", Errorf(CodeInternal, "A turn that is %s cannot end as %s.", turn, e.Status)
	}
	trigger := e.Status.EndTrigger()
	if e.Detached {
		trigger = SessionDetached
	}
	next, err := Next(session, trigger)
	if err != nil {
		return "", Errorf(CodeInternal, "The session cannot follow its turn's end.").Because(err)
	}
	return next, nil
}
