package host

import (
	"context"

	"agenthost/actors"
	"agenthost/host/api"
	"agenthost/sessions"
)

// SessionSeed appends a synthetic transcript. Its calls get ids of the host's
// own: those of the request pair calls with results within it, and may have been
// used in the session before.
func (a *Access) SessionSeed(ctx context.Context, args *api.SessionSeedArgs) (*api.SessionSeedResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	owner := a.owner(args.Owner)
	means, err := a.host.store.Resolve(ctx, owner, args.At())
	if err != nil {
		return nil, err
	}
	if means.Life == 0 { // the seed makes the session
		if err := a.knownProfile(args.Profile()); err != nil {
			return nil, err
		}
	}
	seeded, err := a.host.store.SeedSession(ctx, sessions.SeedSession{
		Owner: owner, At: args.At(), NewID: newSessionID(), Profile: args.Profile(),
		Messages: withOwnCallIDs(args.SessionMessages()), State: args.State,
		Request: a.request(args.RequestID, args.Fingerprint()), Now: a.now(),
	})
	if err != nil {
		return nil, err
	}
	a.tell(sessions.SessionUpdated, seeded.Session)
	return &api.SessionSeedResult{Session: a.shown(seeded.Session), Appended: seeded.Appended}, nil
}

// withOwnCallIDs gives each call of a transcript, and its result, a new id.
func withOwnCallIDs(messages []sessions.Message) []sessions.Message {
	own := map[sessions.CallID]sessions.CallID{}
	for i := range messages {
		m := &messages[i]
		calls := make([]sessions.ToolCall, len(m.ToolCalls))
		for j, c := range m.ToolCalls {
			own[c.ID] = actors.NewCallID()
			c.ID = own[c.ID]
			calls[j] = c
		}
		if len(calls) > 0 {
			m.ToolCalls = calls // a list of its own: the request's stays as it is
		}
		if m.ToolCallID != "" {
			m.ToolCallID = own[m.ToolCallID]
		}
	}
	return messages
}
