package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/tests/rows"
)

// creator makes sessions with an input by the Agents API, each under a key of its own,
// and goes on asking for one until it has been told of it.
type creator struct {
	url  string
	told atomic.Int64

	mu       sync.Mutex
	sessions map[string]string // by key
}

func (c *creator) work(ctx context.Context, client int) {
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("%d-%d", client, n)
		for ctx.Err() == nil {
			id, err := c.create(ctx, key)
			if err != nil {
				time.Sleep(5 * time.Millisecond) // the host is gone, and comes back
				continue
			}
			c.mu.Lock()
			c.sessions[key] = id
			c.mu.Unlock()
			c.told.Add(1)
			break
		}
	}
}

func (c *creator) create(ctx context.Context, key string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/agents/sessions",
		strings.NewReader(`{"environment":{"type":"none"},"agent":{"model":"default","instructions":"Be brief."},"input":"`+key+`"}`))
	if err != nil {
		return "", err
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Openai-Beta": {"agents=v1"}, "Idempotency-Key": {key}}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var made struct {
		ID string `json:"id"`
	}
	if response.StatusCode != http.StatusOK || json.Unmarshal(text, &made) != nil || made.ID == "" {
		return "", errors.New(string(text))
	}
	return made.ID, nil
}

// A kill in the midst of creations leaves no session without its input, and the
// repeat of a creation makes no second one.
func TestKillsBetweenCreationsAndTheirInputs(t *testing.T) {
	folder := t.TempDir()
	args := append(writeScript(t, folder, "steps: [{text: fine, repeat: true}]\n"), "--listen", freeAddress(t))
	p := serve(t, folder, args...)
	c := &creator{url: p.url, sessions: map[string]string{}}
	ctx, stop := context.WithCancel(waiting(t))
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop()
	for n := range 4 {
		clients.Go(func() { c.work(ctx, n) })
	}
	const whole = `SELECT id FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.sid = s.sid AND t.user_seq = 1)
		OR NOT EXISTS (SELECT 1 FROM session_state v WHERE v.sid = s.sid) OR message_count = 0`
	for range 6 {
		next := c.told.Load() + 25
		require.Eventually(t, func() bool { return c.told.Load() >= next }, patience, time.Millisecond)
		p.kill()
		require.Empty(t, rows.Column(t, opened(t, within(folder, "a.db")), whole), "sessions without their input")
		p = serve(t, folder, args...)
	}
	next := c.told.Load() + 25
	require.Eventually(t, func() bool { return c.told.Load() >= next }, patience, time.Millisecond)
	stop()
	clients.Wait()
	p.stop(t)
	db := opened(t, within(folder, "a.db"))
	require.Empty(t, rows.Column(t, db, "SELECT body FROM session_messages WHERE seq = 1 GROUP BY json_extract(body, '$.content') HAVING count(*) > 1"),
		"creations that happened twice")
	require.Subset(t, rows.Column(t, db, "SELECT id FROM sessions"), slices.Collect(maps.Values(c.sessions)))
	require.Empty(t, rows.Column(t, db, "SELECT sid FROM turns GROUP BY sid HAVING count(*) > 1"), "inputs that were taken twice")
}
