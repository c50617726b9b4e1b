package host

import (
	"context"
	"maps"
	"slices"

	"agenthost/host/api"
	"agenthost/sessions"
)

// NewSession is a session to be made under an id of the host's. The bounds of its
// labels are the caller's affair.
type NewSession struct {
	sessions.NewSession
	Asks        sessions.Inference // what its prompts will ask of models; refused when they could not ask it now
	RequestID   sessions.RequestID // "" when the request is never repeated
	Fingerprint [32]byte           // digest of all that is asked
}

// SessionBegin makes a session that has no key, with state from its first moment
// on. A repeat of the request returns the session there is.
func (a *Access) SessionBegin(ctx context.Context, n NewSession) (sessions.Session, error) {
	later := api.PromptArgs{Address: api.Address{SessionID: "new"}, Text: "later", Params: &n.Asks.Params,
		AnswerSchema: n.Asks.AnswerSchema, ClientTools: n.Asks.ClientTools, Instructions: n.Asks.Instructions}
	if err := a.checkNew(n, &later); err != nil {
		return sessions.Session{}, err
	}
	made, err := a.host.store.CreateSession(ctx, sessions.CreateSession{
		Owner: a.caller.Owner, NewID: newSessionID(), Profile: n.Profile, AgentID: n.AgentID, Labels: n.Labels, State: n.State,
		Request: a.request(n.RequestID, n.Fingerprint), Now: a.now(),
	})
	if err != nil {
		return sessions.Session{}, err
	}
	if made.Created {
		a.tell(sessions.SessionCreated, made.Session)
	}
	return a.shown(made.Session), nil
}

// SessionBeginWith does so with the session's first prompt, in one write: there is
// never a session without its prompt, and what is refused of the prompt makes none. It
// returns when the prompt is accepted. args has no address and no request id.
func (a *Access) SessionBeginWith(ctx context.Context, n NewSession, args api.PromptArgs) (*api.PromptResult, error) {
	args.Address = api.Address{SessionID: newSessionID()}
	args.Wait = api.WaitAccepted
	n.Asks = args.Inference()
	if err := a.checkNew(n, &args); err != nil {
		return nil, err
	}
	message := a.promptOf(&args, sessions.Request{ID: a.faced(n.RequestID), Fingerprint: n.Fingerprint})
	message.Begin = &n.NewSession
	return a.runTurn(ctx, message, args.Wait, nil)
}

// checkNew checks what makes a session, and a prompt to it.
func (a *Access) checkNew(n NewSession, prompt *api.PromptArgs) error {
	if err := a.check(&api.SessionCreateArgs{RequestID: n.RequestID}); err != nil {
		return err
	}
	if err := a.check(prompt); err != nil {
		return err
	}
	if err := a.host.system.CheckInference(n.Profile, n.Asks); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(n.State)) {
		if limit := a.host.config.Limits.StateBytes; int64(len(n.State[name])) > limit {
			return sessions.TooLarge("stateBytes", limit, "The session's settings have more than the limit of %d bytes.", limit)
		}
	}
	return nil
}

// SessionDeleted reports whether the caller had a session of this id that was
// deleted, for as long as that is remembered.
func (a *Access) SessionDeleted(ctx context.Context, id sessions.SessionID) (bool, error) {
	return a.host.store.Deleted(ctx, a.caller.Owner, id, a.now())
}
