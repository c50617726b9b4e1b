package tests

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/host/hosttest"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// foundIn lists the files of a store that hold a text. The search is a child's
// work: this process must not open them a second time.
func foundIn(t *testing.T, file, text string) string {
	t.Helper()
	out, err := exec.Command("grep", "-rlaF", "-e", text, "--", filepath.Dir(file)).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		require.NoError(t, err, "%s", out)
	}
	return string(out)
}

// A host is purged again and again while prompts arrive and sessions are
// deleted: every prompt is answered, nothing acknowledged is lost, and nothing
// deleted is left.
func TestPurgesUnderLoadLoseNothing(t *testing.T) {
	for _, frames := range []string{sqlite.FramesRecord, sqlite.FramesFile} {
		t.Run(frames, func(t *testing.T) {
			h := hosttest.New(t, hosttest.Options{Store: sqlite.Config{Frames: frames, QueueLimit: 8}})
			const clients, prompts, purges = 12, 15, 4
			var group sync.WaitGroup
			for n := range clients {
				group.Go(func() { converse(t, h.Client, fmt.Sprint("kept-", n), prompts) })
			}
			group.Go(func() { comeAndGo(t, h.Client, 2*prompts) })
			for range purges {
				done, err := h.Client.Purge(t.Context(), api.PurgeArgs{})
				require.NoError(t, err)
				require.Contains(t, done.Files, h.File)
			}
			group.Wait()
			_, err := h.Client.Purge(t.Context(), api.PurgeArgs{})
			require.NoError(t, err)
			require.Empty(t, foundIn(t, h.File, "obliterate"))
			require.NotEmpty(t, foundIn(t, h.File, "remember kept-3/7"))

			h.Restart()
			for n := range clients {
				name := fmt.Sprint("kept-", n)
				page, err := h.Client.Messages(t.Context(), api.MessagesArgs{Address: api.Address{TargetKey: name}, Limit: new(1000)})
				require.NoError(t, err)
				require.Len(t, page.Messages, 2*prompts, "each prompt once, each with its answer")
				for i := range prompts {
					require.Equal(t, fmt.Sprintf("remember %s/%d", name, i), sessions.TextOf(page.Messages[2*i].Content))
				}
			}
		})
	}
}

// converse sends prompts to a session, each until it is answered.
func converse(t *testing.T, c *client.Client, name string, prompts int) {
	t.Helper()
	for i := range prompts {
		text := fmt.Sprintf("remember %s/%d", name, i)
		until(t, func(ctx context.Context) error {
			_, err := c.Prompt(ctx, api.PromptArgs{Address: api.Address{TargetKey: name}, Text: text, RequestID: sessions.RequestID(text)}, nil)
			return err
		})
	}
}

// comeAndGo makes sessions with a word in them, and deletes them.
func comeAndGo(t *testing.T, c *client.Client, count int) {
	t.Helper()
	for i := range count {
		at := api.Address{TargetKey: fmt.Sprint("gone-", i)}
		text := strings.Repeat("obliterate ", 300)
		until(t, func(ctx context.Context) error {
			_, err := c.Prompt(ctx, api.PromptArgs{Address: at, Text: text, RequestID: sessions.RequestID(at.TargetKey)}, nil)
			return err
		})
		until(t, func(ctx context.Context) error {
			_, err := c.SessionDelete(ctx, api.SessionDeleteArgs{Address: at})
			return err
		})
	}
}

// until does something until it succeeds. The only refusals are those of a store
// that is busy, and the answer to a repetition while the first is under way.
func until(t *testing.T, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Patience)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return
		}
		if code := sessions.CodeOf(err); code != sessions.CodeOverloaded {
			t.Errorf("refused otherwise than by the load: %v", err)
			return
		}
		time.Sleep(time.Millisecond) // a pause, as OVERLOADED asks for
	}
}
