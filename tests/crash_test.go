package tests

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/sessions"
)

// ask sends a prompt to key "k" of a child and returns the answer's text.
func ask(t *testing.T, c *client.Client, text string) string {
	t.Helper()
	result, err := c.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: text}, nil)
	require.NoError(t, err)
	return sessions.TextOf(result.Message.Content)
}

// transcript is what is stored of key "k", as its roles and texts.
func transcript(t *testing.T, c *client.Client) []string {
	t.Helper()
	page, err := c.Messages(t.Context(), api.MessagesArgs{Address: atK})
	require.NoError(t, err)
	var said []string
	for i, m := range page.Messages {
		require.EqualValues(t, i+1, m.Seq)
		line := string(m.Role) + ": " + sessions.TextOf(m.Content)
		if m.Error != nil {
			line += string(m.Error.Code)
		}
		said = append(said, line)
	}
	return said
}

func TestKillBetweenTurnsLosesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	first := startChild(t, file)
	require.Equal(t, "fine", ask(t, first.client, "one"))
	before := transcript(t, first.client)
	first.kill()

	second := startChild(t, file)
	require.Equal(t, before, transcript(t, second.client))
	require.Equal(t, "fine", ask(t, second.client, "two"))
	require.Equal(t, []string{"user: one", "assistant: fine", "user: two", "assistant: fine"}, transcript(t, second.client))
}

// startHanging sends a prompt whose tool hangs and waits until it does.
func startHanging(t *testing.T, c *child, text string) sessions.RequestID {
	t.Helper()
	const id = sessions.RequestID("r1")
	_, err := c.client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: text, RequestID: id, Wait: api.WaitAccepted}, nil)
	require.NoError(t, err)
	c.await(saysToolBegan)
	return id
}

// Field case 8: the tool must not be run twice, so the turn ends interrupted.
func TestCase08KillInMidTool(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	first := startChild(t, file)
	require.Equal(t, "fine", ask(t, first.client, "one"))
	id := startHanging(t, first, "hang")
	first.kill()

	second := startChild(t, file)
	ended, err := second.client.Turn(t.Context(), api.TurnArgs{Address: atK, RequestID: id, Wait: api.WaitDone})
	require.NoError(t, err)
	require.Equal(t, sessions.TurnIsInterrupted, ended.Turn.Status)
	require.Equal(t, sessions.CodeHostRestarted, ended.Turn.Error.Code)
	_, err = second.client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "hang", RequestID: id}, nil)
	require.Equal(t, sessions.CodeHostRestarted, sessions.CodeOf(err), "the same request id has the stored end")
	require.Equal(t, "fine", ask(t, second.client, "and now?"))
	require.Equal(t, []string{
		"user: one", "assistant: fine",
		"user: hang", "assistant: let me see", "tool: CANCELLED",
		"user: and now?", "assistant: fine",
	}, transcript(t, second.client))

	frames, err := second.client.Frames(t.Context(), api.FramesArgs{Address: atK, RequestID: id})
	require.NoError(t, err)
	terminal := 0
	for _, f := range frames.Frames {
		if f.Type().Terminal() {
			terminal++
		}
	}
	require.Equal(t, 1, terminal)
	require.Equal(t, sessions.FrameInterrupted, frames.Frames[len(frames.Frames)-1].Type())
}

// Field case 9: as 8, then cancel, then prompt.
func TestCase09CancelAfterAKillInMidTool(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	first := startChild(t, file)
	startHanging(t, first, "hang")
	first.kill()

	second := startChild(t, file)
	_, err := second.client.Cancel(t.Context(), api.CancelArgs{Address: atK})
	require.NoError(t, err)
	require.Equal(t, "fine", ask(t, second.client, "and now?"))
}

// A tool that may be run twice is run again, and the turn goes on to its answer.
func TestKillInMidRepeatableToolResumes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	first := startChild(t, file)
	id := startHanging(t, first, "repeat")
	first.kill()

	second := startChild(t, file)
	result, err := second.client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "repeat", RequestID: id}, nil)
	require.NoError(t, err)
	require.True(t, result.Duplicate)
	require.Equal(t, "done", sessions.TextOf(result.Message.Content))
	require.Equal(t, "fine", ask(t, second.client, "and now?"))
	require.Equal(t, []string{
		"user: repeat", "assistant: ", "tool: ", "assistant: done", "user: and now?", "assistant: fine",
	}, transcript(t, second.client))
	turn, err := second.client.Turn(t.Context(), api.TurnArgs{Address: atK, RequestID: id})
	require.NoError(t, err)
	require.Equal(t, 1, turn.Turn.Attempts)
}

// Whoever was attached goes on after the restart, and sees one end.
func TestKillUnderASubscription(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	first := startChild(t, file)
	id := startHanging(t, first, "repeat")
	sub, err := first.client.Subscribe(t.Context(), api.SubscribeArgs{Address: atK, After: sessions.CursorStart})
	require.NoError(t, err)
	defer sub.Close()
	frame, err := sub.Next(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, frame.Seq)
	first.kill()
	for err == nil {
		frame, err = sub.Next(t.Context())
	}
	require.ErrorIs(t, err, client.ErrUnreachable)

	second := startChild(t, file)
	again, err := second.client.Subscribe(t.Context(), api.SubscribeArgs{Address: atK, After: sub.Cursor()})
	require.NoError(t, err)
	defer again.Close()
	_, seq, err := sub.Cursor().Position("")
	require.NoError(t, err)
	c := newCollector(t, seq)
	for c.ends == 0 {
		frame, err = again.Next(t.Context())
		require.NoError(t, err)
		c.take(frame)
	}
	require.Equal(t, id, frame.RequestID)
	require.Equal(t, sessions.FrameCompleted, frame.Type())
}

// Field case 10: a turn that kills the host each time is given up at last, and
// other sessions have not waited for that: beside it their turns begin, and one
// that the first kill has cut comes to its end.
func TestCase10TurnThatKillsTheHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	first := startChild(t, file)
	require.Equal(t, "fine", ask(t, first.client, "one"))
	const id = sessions.RequestID("r1")
	prompt := func(c *client.Client, args api.PromptArgs) *api.PromptResult {
		t.Helper()
		result, err := c.Prompt(t.Context(), args, nil)
		require.NoError(t, err)
		return result
	}
	other := api.PromptArgs{Address: api.Address{TargetKey: "other"}, Text: "repeat", RequestID: "r2"}
	begun := other
	begun.Wait = api.WaitAccepted
	prompt(first.client, begun)
	first.await(saysToolBegan)
	prompt(first.client, api.PromptArgs{Address: atK, Text: "kill", RequestID: id, Wait: api.WaitAccepted})
	require.NoError(t, os.WriteFile(mayKill(file), nil, 0o600))
	require.Error(t, first.run.Wait())

	require.NoError(t, os.Remove(mayKill(file)))
	second := startChild(t, file)
	gone := prompt(second.client, other)
	require.True(t, gone.Duplicate, "the turn that was cut goes on")
	require.Equal(t, "done", sessions.TextOf(gone.Message.Content))
	fresh := api.PromptArgs{Address: other.Address, Text: "and now?"}
	require.Equal(t, "fine", sessions.TextOf(prompt(second.client, fresh).Message.Content))
	killer, err := second.client.Turn(t.Context(), api.TurnArgs{Address: atK, RequestID: id})
	require.NoError(t, err)
	require.Equal(t, sessions.TurnIsRunning, killer.Turn.Status, "all that was beside the turn that kills")
	require.NoError(t, os.WriteFile(mayKill(file), nil, 0o600))
	require.Error(t, second.run.Wait())
	for range 2 {
		require.Error(t, childCommand(t, file).Run(), "the turn is taken up, and kills")
	}

	last := startChild(t, file)
	ended, err := last.client.Turn(t.Context(), api.TurnArgs{Address: atK, RequestID: id, Wait: api.WaitDone})
	require.NoError(t, err)
	require.Equal(t, sessions.TurnIsFailed, ended.Turn.Status)
	require.Equal(t, sessions.CodeCrashLoop, ended.Turn.Error.Code)
	got, err := last.client.SessionGet(t.Context(), api.SessionGetArgs{Address: atK})
	require.NoError(t, err)
	require.Equal(t, sessions.StatusFailed, got.Session.Status)
	require.Equal(t, sessions.CodeCrashLoop, got.Session.LastError.Code)
	require.Equal(t, "fine", ask(t, last.client, "and now?"))
}
