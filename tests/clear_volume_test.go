//go:build !race

package tests

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

const (
	clearedSessions = 20_000
	clearedMessages = 10 // of 1 KiB in each of them
	clearedTurns    = 200
	clearedClients  = 16
)

// promptAtClear is one prompt, and how the clear stood when it was sent and
// when it was answered.
type promptAtClear struct {
	args          api.PromptArgs
	before, after bool // answered before the clear was asked for; sent after it was answered
	turn          sessions.TurnID
	code          sessions.Code
}

// clearing is a host with much in it, whose sessions are all cleared.
type clearing struct {
	t              *testing.T
	h              *hosttest.Host
	asked, cleared atomic.Bool
	stop           chan struct{}

	mu      sync.Mutex
	prompts []*promptAtClear
}

// Tens of thousands of sessions and hundreds of megabytes are cleared while
// prompts arrive all the while. Each prompt has one answer, and that is true: its
// session is gone, or it is fresh and has the turn.
func TestVolumeClearAllWhilePromptsArrive(t *testing.T) {
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			c := &clearing{t: t, stop: make(chan struct{})}
			c.h = hosttest.New(t, hosttest.Options{Store: sqlite.Config{Frames: place}, Profiles: map[string]host.Profile{
				sessions.DefaultProfile: {Oracle: scripted.Play(scripted.Script{
					Rules: []scripted.Rule{{When: "hang", Steps: []scripted.Step{{Hang: true}}}},
					Steps: []scripted.Step{{Text: "fine", Repeat: true}},
				})},
			}})
			c.fillUp()
			filled := onDisk(t, c.h.File)
			require.Greater(t, filled, int64(clearedSessions*clearedMessages<<10))
			hanging := c.hang()
			var talking sync.WaitGroup
			for n := range clearedClients {
				talking.Go(func() { c.talk(t.Context(), n) })
			}
			c.awaitPrompts(10 * clearedClients)
			c.clear()
			c.awaitPrompts(10 * clearedClients)
			close(c.stop)
			talking.Wait()
			for range clearedTurns {
				require.Equal(t, sessions.CodeSessionDeleted, sessions.CodeOf((<-hanging).err), "its turn was under way")
			}
			t.Logf("%d bytes became %d; %d prompts", filled, onDisk(t, c.h.File), len(c.prompts))
			c.requireTruth()
			require.Empty(t, foundIn(t, c.h.File, "obliterate"))
			c.h.Restart()
			c.requireTruth()
		})
	}
}

// fillUp makes the sessions that are there before.
func (c *clearing) fillUp() {
	c.t.Helper()
	text := strings.Repeat("obliterate ", 1<<10/11+1)
	var messages []api.SeedMessage
	for n := range clearedMessages {
		messages = append(messages, api.SeedMessage{Role: []sessions.Role{sessions.RoleUser, sessions.RoleAssistant}[n%2], Content: sessions.Text(text)})
	}
	const together = 64
	for _, err := range atOnce(together, func(i int) error {
		for n := i; n < clearedSessions; n += together {
			args := api.SessionSeedArgs{Address: api.Address{TargetKey: fmt.Sprint("old-", n)}, Messages: messages}
			if _, err := c.h.SessionSeed(c.t.Context(), &args); err != nil {
				return err
			}
		}
		return nil
	}) {
		require.NoError(c.t, err)
	}
}

// hang begins turns that only a delete ends, in sessions that are there.
func (c *clearing) hang() <-chan outcome[*api.PromptResult] {
	c.t.Helper()
	ended := make(chan outcome[*api.PromptResult], clearedTurns)
	for n := range clearedTurns {
		args := api.PromptArgs{Address: api.Address{TargetKey: fmt.Sprint("old-", n)}, Text: "hang", RequestID: sessions.RequestID(fmt.Sprint("hang-", n))}
		accepted := args
		accepted.Wait = api.WaitAccepted
		_, err := c.h.Client.Prompt(c.t.Context(), accepted, nil)
		require.NoError(c.t, err)
		go func() {
			result, err := c.h.Client.Prompt(c.t.Context(), args, nil)
			ended <- outcome[*api.PromptResult]{result, err}
		}()
	}
	return ended
}

// talk prompts one session after the other, old ones and its own, until the stop.
func (c *clearing) talk(ctx context.Context, client int) {
	for n := 0; ; n++ {
		select {
		case <-c.stop:
			return
		default:
		}
		key := fmt.Sprintf("own-%d-%d", client, n%4)
		if n%3 == 0 {
			key = fmt.Sprintf("old-%d", clearedTurns+client+n*clearedClients)
		}
		p := &promptAtClear{after: c.cleared.Load(), args: api.PromptArgs{Address: api.Address{TargetKey: key},
			Text: fmt.Sprintf("%d of %d", n, client), RequestID: sessions.RequestID(fmt.Sprintf("r%d-%d", client, n))}}
		result, err := c.h.Client.Prompt(ctx, p.args, nil)
		p.before = !c.asked.Load()
		if p.code = sessions.CodeOf(err); err == nil {
			p.turn = result.TurnID
		}
		c.mu.Lock()
		c.prompts = append(c.prompts, p)
		c.mu.Unlock()
	}
}

// awaitPrompts waits until so many more prompts have been answered.
func (c *clearing) awaitPrompts(more int) {
	c.t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.prompts)
	}
	until := count() + more
	require.Eventually(c.t, func() bool { return count() >= until }, hosttest.Patience, eventTick)
}

func (c *clearing) clear() {
	c.t.Helper()
	c.asked.Store(true)
	result, err := c.h.Client.SessionClearAll(c.t.Context(), api.SessionClearAllArgs{})
	c.cleared.Store(true)
	require.NoError(c.t, err)
	require.True(c.t, result.Receipt.Complete)
	require.True(c.t, result.Receipt.Compacted)
	require.GreaterOrEqual(c.t, result.Receipt.Sessions, int64(clearedSessions))
	require.GreaterOrEqual(c.t, result.Receipt.Rows["session_messages"], int64(clearedSessions*clearedMessages))
}

// requireTruth requires of each prompt that what its caller was told is so, and of
// the sessions that they have the turns told of and no others.
func (c *clearing) requireTruth() {
	t := c.t
	told := map[string]int{} // turns that live on, by key
	for _, p := range c.prompts {
		again, err := c.h.Client.Prompt(t.Context(), p.args, nil)
		code := sessions.CodeOf(err)
		switch {
		case p.turn == "":
			require.Equal(t, sessions.CodeSessionDeleted, p.code)
			require.False(t, p.before || p.after, "prompt %s was told so at the wrong time", p.args.RequestID)
			if err == nil { // the clear came before its accept: it was not run, and is now
				require.False(t, again.Duplicate, "prompt %s was refused and has run", p.args.RequestID)
				p.turn, p.after = again.TurnID, true
				told[p.args.TargetKey]++
				continue
			}
			require.Equal(t, p.code, code, "the answer stays")
		case code == sessions.CodeSessionDeleted:
			require.False(t, p.after, "prompt %s came after the clear", p.args.RequestID)
		default:
			require.NoError(t, err)
			require.False(t, p.before, "prompt %s came before the clear", p.args.RequestID)
			require.True(t, again.Duplicate)
			require.Equal(t, p.turn, again.TurnID)
			told[p.args.TargetKey]++
		}
	}
	for key, turns := range told {
		page, err := c.h.Client.Messages(t.Context(), api.MessagesArgs{Address: api.Address{TargetKey: key}, Limit: new(1000)})
		require.NoError(t, err)
		require.Len(t, page.Messages, 2*turns, "session %s is fresh", key)
		require.EqualValues(t, 1, page.Messages[0].Seq)
	}
	living := 0
	for cursor := ""; ; {
		page, err := c.h.Client.SessionList(t.Context(), api.SessionListArgs{Limit: new(api.MaxPageLimit), Cursor: cursor})
		require.NoError(t, err)
		living += len(page.Sessions)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	require.Len(t, told, living)
}
