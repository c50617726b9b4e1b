package agentsv1

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// heardStore is a store whose calls on behalf of requests are written down.
type heardStore struct {
	sessions.Store
	mu    sync.Mutex
	calls []string
}

func (s *heardStore) hear(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

// taken returns the calls since the last time.
func (s *heardStore) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *heardStore) Session(ctx context.Context, owner sessions.Owner, at sessions.Address) (sessions.Session, error) {
	s.hear("Session")
	return s.Store.Session(ctx, owner, at)
}

func (s *heardStore) Resolve(ctx context.Context, owner sessions.Owner, at sessions.Address) (sessions.Resolution, error) {
	s.hear("Resolve")
	return s.Store.Resolve(ctx, owner, at)
}

func (s *heardStore) Deleted(ctx context.Context, owner sessions.Owner, id sessions.SessionID, now sessions.Time) (bool, error) {
	s.hear("Deleted")
	return s.Store.Deleted(ctx, owner, id, now)
}

func (s *heardStore) Elsewhere(ctx context.Context, owner sessions.Owner, at sessions.Address) (bool, error) {
	s.hear("Elsewhere")
	return s.Store.Elsewhere(ctx, owner, at)
}

func (s *heardStore) Claim(ctx context.Context, owner sessions.Owner, id sessions.RequestID, now sessions.Time) (sessions.Claim, bool, error) {
	s.hear("Claim")
	return s.Store.Claim(ctx, owner, id, now)
}

func (s *heardStore) ClaimRequest(ctx context.Context, c sessions.ClaimRequest) (sessions.ClaimedRequest, error) {
	s.hear("ClaimRequest")
	return s.Store.ClaimRequest(ctx, c)
}

func (s *heardStore) UpdateSession(ctx context.Context, c sessions.UpdateSession) (sessions.Session, error) {
	s.hear("UpdateSession")
	return s.Store.UpdateSession(ctx, c)
}

func (s *heardStore) AcceptTurn(ctx context.Context, c sessions.AcceptTurn) (sessions.AcceptedTurn, error) {
	s.hear("AcceptTurn")
	return s.Store.AcceptTurn(ctx, c)
}

func (s *heardStore) AnswerCalls(ctx context.Context, c sessions.AnswerCalls) (sessions.AnsweredCalls, error) {
	s.hear("AnswerCalls")
	return s.Store.AnswerCalls(ctx, c)
}

func (s *heardStore) Turn(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.Turn, error) {
	s.hear("Turn")
	return s.Store.Turn(ctx, life, id)
}

func (s *heardStore) Turns(ctx context.Context, life sessions.Incarnation, q sessions.TurnQuery) (sessions.TurnPage, error) {
	s.hear("Turns")
	return s.Store.Turns(ctx, life, q)
}

func (s *heardStore) Refs(ctx context.Context, life sessions.Incarnation) ([]sessions.Ref, error) {
	s.hear("Refs")
	return s.Store.Refs(ctx, life)
}

func (s *heardStore) Messages(ctx context.Context, life sessions.Incarnation, q sessions.MessageQuery) (sessions.MessagePage, error) {
	s.hear("Messages")
	return s.Store.Messages(ctx, life, q)
}

// A foreign session costs the store the same questions as one that nobody has, so
// that there is no difference that could take time.
func TestCase52ForeignSessionsAreLookedForAsUnknownOnes(t *testing.T) {
	var heard *heardStore
	w := newFitted(t, everyState(), fitting{
		wrap: func(s sessions.Store) sessions.Store { heard = &heardStore{Store: s}; return heard },
		fit: func(profiles map[string]host.Profile) { // nobody leaves memory meanwhile
			profile := profiles[sessions.DefaultProfile]
			profile.IdleTTL = time.Hour
			profiles[sessions.DefaultProfile] = profile
		},
	})
	ann, bob := w.person(api.KeyCreateArgs{Owner: "ann"}), w.person(api.KeyCreateArgs{Owner: "bob"})
	states := map[string]string{"idle": ann.made("hello", "idle"), "busy": ann.made("hang", "in_progress"), "waiting": ann.made("ask", "requires_action"),
		"deleted": ann.made("hello", "idle")}
	_, err := ann.sessions().Delete(w.ctx(), states["deleted"])
	require.NoError(t, err)
	for _, a := range askedOfASession {
		if a.header.Get("Last-Event-Id") != "" {
			continue // such as the request without it
		}
		ids := func(session string) map[string]string {
			return map[string]string{"<session>": session, "<turn>": nobodysTurn, "<call>": nobodysCall, "<child>": nobodysChild}
		}
		heard.taken()
		bob.ask(a.with(ids(nobodysSession)))
		want := heard.taken()
		require.NotEmpty(t, want)
		require.Equal(t, "Elsewhere", want[len(want)-1], "whether it is another's is asked in either case, for the log")
		for state, id := range states {
			bob.ask(a.with(ids(id)))
			require.Equal(t, want, heard.taken(), "%s %s: %s", state, a.method, a.path)
		}
	}
}
