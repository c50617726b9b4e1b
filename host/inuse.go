package host

import (
	"context"
	"sync/atomic"

	"agenthost/actors/feed"
	"agenthost/sessions"
)

// childPage is how many children are asked for at once.
const childPage = 100

// inUse tells whether somebody follows a session or one below it. Whether one has
// a turn is the store's to say, in the transaction that would remove it.
type inUse struct {
	store    sessions.Store
	feed     *feed.Feed
	watchers *atomic.Int64 // subscriptions open in the whole host
}

// watched reports whether a subscription is open to a session of the tree. One
// that is damaged counts as watched, since its tree cannot be read.
func (u inUse) watched(ctx context.Context, root sessions.DeletedSession) (bool, error) {
	if u.watchers.Load() == 0 {
		return false, nil
	}
	seen := map[sessions.SessionID]bool{root.ID: true}
	for next := []sessions.SessionID{root.ID}; len(next) > 0; {
		s, err := u.store.Session(ctx, root.Owner, sessions.Address{ID: next[0]})
		next = next[1:]
		if sessions.CodeOf(err) == sessions.CodeSessionNotFound {
			continue
		}
		if err != nil {
			return false, err
		}
		if u.feed.Listening(s.Fence.Incarnation) {
			return true, nil
		}
		children, err := u.children(ctx, s)
		if sessions.CodeOf(err) == sessions.CodeSessionDamaged {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		for _, id := range children {
			if !seen[id] {
				seen[id] = true
				next = append(next, id)
			}
		}
	}
	return false, nil
}

// children returns the ids of a session's local children.
func (u inUse) children(ctx context.Context, s sessions.Session) ([]sessions.SessionID, error) {
	var ids []sessions.SessionID
	refs, err := u.store.Refs(ctx, s.Fence.Incarnation)
	if err != nil {
		if sessions.CodeOf(err) == sessions.CodeSessionNotFound {
			return nil, nil
		}
		return nil, err
	}
	for _, ref := range refs {
		if ref.Location == sessions.Local {
			ids = append(ids, ref.SessionID)
		}
	}
	q := sessions.SessionQuery{Owner: s.Owner, Parent: &s.ID, Limit: childPage}
	for {
		page, err := u.store.Sessions(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, child := range page.Sessions {
			if child.ParentLocation == sessions.Local {
				ids = append(ids, child.ID)
			}
		}
		if page.NextCursor == "" {
			return ids, nil
		}
		q.Cursor = page.NextCursor
	}
}
