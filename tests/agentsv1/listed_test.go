package agentsv1

import (
	"context"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// betweenStore does something behind each reading of a page of sessions.
type betweenStore struct {
	sessions.Store
	do func(sessions.SessionPage)
}

func (s *betweenStore) Sessions(ctx context.Context, q sessions.SessionQuery) (sessions.SessionPage, error) {
	page, err := s.Store.Sessions(ctx, q)
	if err == nil && s.do != nil {
		s.do(page)
	}
	return page, err
}

// Sessions that are deleted while a page is made are not on it, and the walk over the
// pages goes on behind them.
func TestSessionsThatAreDeletedWhileTheyAreListed(t *testing.T) {
	for _, order := range []openai.BetaAgentSessionListParamsOrder{"asc", "desc"} {
		store := &betweenStore{}
		w := newFitted(t, answers("ok"), fitting{wrap: func(s sessions.Store) sessions.Store { store.Store = s; return store }})
		var ids []string
		for range 8 {
			ids = append(ids, w.made("hi", "idle"))
		}
		doomed := map[string]bool{ids[0]: true, ids[2]: true, ids[3]: true, ids[6]: true, ids[7]: true}
		store.do = func(page sessions.SessionPage) {
			for _, s := range page.Sessions {
				if doomed[string(s.ID)] {
					_, err := w.sessions().Delete(w.ctx(), string(s.ID))
					require.NoError(t, err)
				}
			}
		}
		var got []string
		pager := w.sessions().ListAutoPaging(w.ctx(), openai.BetaAgentSessionListParams{Limit: openai.Int(2), Order: order})
		for pager.Next() {
			got = append(got, pager.Current().ID)
		}
		require.NoError(t, pager.Err())
		require.ElementsMatch(t, []string{ids[1], ids[4], ids[5]}, got, order)
	}
}
