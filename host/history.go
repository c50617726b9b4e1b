package host

import (
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// Messages returns a range of a session's messages.
func (a *Access) Messages(ctx context.Context, args *api.MessagesArgs) (*api.MessagesResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.find(ctx, args.Address)
	if err != nil {
		return nil, err
	}
	page, err := a.host.store.Messages(ctx, s.Fence.Incarnation, args.Query())
	if err != nil {
		return nil, err
	}
	return &api.MessagesResult{Messages: notNil(page.Messages), HasMore: page.HasMore}, nil
}

// Frames returns a range of a session's kept frames, gaps in the place of others.
func (a *Access) Frames(ctx context.Context, args *api.FramesArgs) (*api.FramesResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.find(ctx, args.Address)
	if err != nil {
		return nil, a.orDeleted(ctx, err, args.After, args.Before)
	}
	q := sessions.FrameQuery{Descending: args.Order == api.Descending, Limit: args.PageLimit()}
	if q.AfterSeq, err = a.position(ctx, s, "/args/after", args.After, 0); err != nil {
		return nil, err
	}
	if q.BeforeSeq, err = a.position(ctx, s, "/args/before", args.Before, 0); err != nil {
		return nil, err
	}
	if args.RequestID != "" {
		turn, err := a.turnOf(ctx, s, a.faced(args.RequestID))
		if err != nil {
			return nil, err
		}
		q.TurnID = turn.TurnID
	}
	page, err := a.host.store.Frames(ctx, s.Fence.Incarnation, q)
	if err != nil {
		return nil, err
	}
	return &api.FramesResult{Frames: notNil(page.WithGaps(q.Descending)), HasMore: page.HasMore}, nil
}

// Turns returns a page of a session's turns, newest first.
func (a *Access) Turns(ctx context.Context, args *api.TurnsArgs) (*api.TurnsResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	s, err := a.find(ctx, args.Address)
	if err != nil {
		return nil, err
	}
	page, err := a.host.store.Turns(ctx, s.Fence.Incarnation, sessions.TurnQuery{
		Limit: args.PageLimit(), Cursor: args.Cursor, After: args.After, Ascending: args.Ascending})
	if err != nil {
		return nil, err
	}
	return &api.TurnsResult{Turns: notNil(page.Turns), NextCursor: page.NextCursor}, nil
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
