package agentsv1

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

func TestStreamsAreKeptAlive(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{comment: 5 * time.Millisecond})
	conn := s.dial(beta("GET", "/sessions/"+s.idle+"/events", ""))
	status, header := conn.Head()
	require.Equal(t, 200, status)
	require.Equal(t, "text/event-stream", header.Get("Content-Type"))
	require.Equal(t, "no-store", header.Get("Cache-Control"))
	require.Equal(t, "no", header.Get("X-Accel-Buffering"))
	require.Regexp(t, "^req_[0-9a-f]{32}$", header.Get("X-Request-Id"))
	f := s.attach(s.idle, "")
	for range 3 {
		for line := ""; line != ": keep-alive\n"; {
			var err error
			line, err = f.in.ReadString('\n')
			require.NoError(t, err)
		}
	}
	require.NoError(t, s.sessions().Events.New(s.ctx(), s.idle, saying("k", "hello")))
	require.Equal(t, "ok", deltas(f.until("agent.session.idle")))
	f.close()
	s.held()
}

// countingStore counts what is read for those who follow a session.
type countingStore struct{ heardStore }

func (s *countingStore) Frames(ctx context.Context, life sessions.Incarnation, q sessions.FrameQuery) (sessions.FramePage, error) {
	s.hear("Frames")
	return s.Store.Frames(ctx, life, q)
}

func (s *countingStore) Messages(ctx context.Context, life sessions.Incarnation, q sessions.MessageQuery) (sessions.MessagePage, error) {
	s.hear("Messages")
	return s.Store.Messages(ctx, life, q)
}

func (s *countingStore) Turns(ctx context.Context, life sessions.Incarnation, q sessions.TurnQuery) (sessions.TurnPage, error) {
	s.hear("Turns")
	return s.Store.Turns(ctx, life, q)
}

func (s *countingStore) Turn(ctx context.Context, life sessions.Incarnation, id sessions.TurnID) (sessions.Turn, error) {
	s.hear("Turn")
	return s.Store.Turn(ctx, life, id)
}

func TestEventsArePushedAndNotPolled(t *testing.T) {
	store := &countingStore{}
	s := newSiege(t, everyState(), fitting{wrap: func(kept sessions.Store) sessions.Store {
		store.Store = kept
		return store
	}}, times{comment: 5 * time.Millisecond})
	var readers []*follower
	for range 20 {
		readers = append(readers, s.attach(s.idle, ""))
	}
	alive := func() {
		t.Helper()
		for _, r := range readers {
			for line := ""; line != ": keep-alive\n"; {
				var err error
				line, err = r.in.ReadString('\n')
				require.NoError(t, err)
			}
		}
	}
	alive() // all have begun
	store.taken()
	for range 20 {
		alive()
	}
	require.Empty(t, store.taken(), "nothing was read while nothing happened")
	for _, r := range readers {
		r.close()
	}
	s.held()
}

func TestStreamsOfASessionThatIsDeleted(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	t.Run("idle", func(t *testing.T) {
		id := s.made("hello", "idle")
		readers := []*follower{s.attach(id, ""), s.attach(id, "")}
		_, err := s.sessions().Delete(s.ctx(), id)
		require.NoError(t, err)
		for _, r := range readers {
			_, ok := r.next()
			require.False(t, ok)
			r.close()
		}
	})
	t.Run("in the middle of a turn", func(t *testing.T) {
		id := s.made("hang", "in_progress")
		r := s.attach(id, "")
		creation := s.sessions().NewStreaming(s.ctx(), asking("hang"))
		require.True(t, creation.Next())
		for _, gone := range []string{id, creation.Current().Session.ID} {
			_, err := s.host.SessionDelete(s.ctx(), &api.SessionDeleteArgs{Address: api.Address{SessionID: sessions.SessionID(gone)}})
			require.NoError(t, err)
		}
		for e, ok := r.next(); ok; e, ok = r.next() {
			require.NotEqual(t, "error", e.name)
		}
		r.close()
		for creation.Next() {
		}
		require.NoError(t, creation.Close())
	})
	s.held()
}

func TestStreamsEndWithTheHost(t *testing.T) {
	s := newSiege(t, everyState(), fitting{}, times{})
	r := s.attach(s.idle, "")
	s.host.Stop()
	_, ok := r.next()
	require.False(t, ok)
	require.Equal(t, "server_error", requireProblem(t, s.dial(beta("GET", "/sessions/"+s.idle, "")).Answer(), 503, "while it stops"))
}

// The SDK's ways to follow a turn come to an end, whatever that is.
func TestTheSDKsStreamsEnd(t *testing.T) {
	w := newFitted(t, everyState(), fitting{fit: func(profiles map[string]host.Profile) {
		p := profiles[sessions.DefaultProfile]
		p.IdleTTL = time.Minute
		profiles[sessions.DefaultProfile] = p
	}})
	last := func(next func() bool, current func() string, during func(kind string)) (kinds []string) {
		for next() {
			kinds = append(kinds, strings.TrimPrefix(current(), "agent.session."))
			during(kinds[len(kinds)-1])
		}
		return kinds
	}
	for input, ends := range map[string][]string{"hello": {"turn.completed", "idle"}, "fail": {"turn.failed", "failed"}, "hang": {"turn.cancelled", "idle"}} {
		t.Run("a turn of a session: "+input, func(t *testing.T) {
			id := w.made("", "idle")
			stream := w.sessions().Stream(w.ctx(), id, openai.AgentSessionStreamParams{Input: input})
			kinds := last(stream.Next, func() string { return stream.Current().Type }, func(kind string) {
				if kind == "turn.in_progress" && input == "hang" {
					w.cancel(id)
				}
			})
			require.NoError(t, stream.Err())
			require.Equal(t, ends, kinds[len(kinds)-2:])
		})
		t.Run("a creation: "+input, func(t *testing.T) {
			stream := w.sessions().NewStreaming(w.ctx(), asking(input))
			id := ""
			kinds := last(stream.Next, func() string { return stream.Current().Type }, func(kind string) {
				switch kind {
				case "created":
					id = stream.Current().Session.ID
				case "turn.in_progress":
					if input == "hang" {
						w.cancel(id)
					}
				}
			})
			require.NoError(t, stream.Err())
			require.Equal(t, ends, kinds[len(kinds)-2:])
		})
	}
}
