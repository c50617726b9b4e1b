package agentsv1_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/agentsv1"
	"agenthost/host/api"
	"agenthost/oracle/scripted"
	"agenthost/persistence/memory"
	"agenthost/sessions"
	"agenthost/tools"
)

// faultyStore fails, or panics, when messages are read, once it is told to.
type faultyStore struct {
	sessions.Store
	mu   sync.Mutex
	fail func() error
}

func (s *faultyStore) Messages(ctx context.Context, life sessions.Incarnation, q sessions.MessageQuery) (sessions.MessagePage, error) {
	s.mu.Lock()
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		if err := fail(); err != nil {
			return sessions.MessagePage{}, err
		}
	}
	return s.Store.Messages(ctx, life, q)
}

func (s *faultyStore) failBy(fail func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

// stream reads what there is of a session's events behind one, up to an event of a
// name, and closes it.
func stream(t *testing.T, handler http.Handler, id sessions.SessionID, last, until string) (names, ids []string, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", "/v1/agents/sessions/"+string(id)+"/events", nil)
	r.Header.Set("OpenAI-Beta", "agents=v1")
	r.Header.Set("Last-Event-ID", last)
	w := &cutWriter{ResponseRecorder: httptest.NewRecorder(), until: "event: " + until + "\n", cut: cancel}
	handler.ServeHTTP(w, r)
	require.Equal(t, 200, w.Code)
	for line := range strings.Lines(w.Body.String()) {
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			names = append(names, strings.TrimPrefix(value, "agent.session."))
		case "id":
			ids = append(ids, value)
		case "data":
			var data struct{ Delta string }
			_ = json.Unmarshal([]byte(value), &data) // other events have other members
			text += data.Delta
		}
	}
	return names, ids, text
}

// cutWriter ends the request when a text was written.
type cutWriter struct {
	*httptest.ResponseRecorder
	until string
	cut   context.CancelFunc
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.until)) {
		w.cut()
	}
	return w.ResponseRecorder.Write(p)
}

func TestStreamsThatBreakOffGoOn(t *testing.T) {
	store := &faultyStore{Store: memory.New(memory.Config{})}
	var log bytes.Buffer
	script := scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{{Text: "let me ", Calls: []scripted.Call{{Path: "/builtin/echo", Args: `{"text":"x"}`}}}, {Text: "look"}}}}})
	tree := &tools.Tree{}
	require.NoError(t, tools.MountBuiltins(tree, time.Now))
	h, err := host.New(store, map[string]host.Profile{sessions.DefaultProfile: {Oracle: script, Tools: []string{"/builtin"}}}, host.Config{Tools: tree})
	require.NoError(t, err)
	require.NoError(t, h.Start(t.Context()))
	defer h.Stop()
	handler := agentsv1.New(h, agentsv1.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	prompt, err := h.Prompt(t.Context(), &api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "hi"}, nil)
	require.NoError(t, err)
	id := prompt.SessionID
	all, ids, text := stream(t, handler, id, firstEvent(t, handler, id), "agent.session.idle")
	require.Equal(t, "let me look", text)
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("secret") },
		"a panic":  func() error { panic("secret") },
	} {
		for i, last := range ids[:len(ids)-1] {
			store.failBy(fail)
			log.Reset()
			had, hadIDs, begun := stream(t, handler, id, last, "agent.session.idle")
			store.failBy(nil)
			if had[len(had)-1] != "error" {
				require.Equal(t, all[i+1:], had, "nothing was read")
				continue
			}
			require.Contains(t, log.String(), "secret", name)
			if len(hadIDs) > 0 {
				last = hadIDs[len(hadIDs)-1]
			}
			rest, _, ended := stream(t, handler, id, last, "agent.session.idle")
			require.Equal(t, all[i+1:], append(had[:len(had)-1], rest...), "%s after %s", name, all[i])
			require.True(t, strings.HasSuffix(text, begun+ended))
		}
	}
}

// firstEvent returns the id of a session's first event.
func firstEvent(t *testing.T, handler http.Handler, id sessions.SessionID) string {
	t.Helper()
	_, ids, _ := stream(t, handler, id, "evt_AQEAAQAA", "agent.session.turn.created")
	return ids[0]
}
