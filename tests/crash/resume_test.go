package crash

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// slowly is a model that takes its time over an answer, so that a part of it is
// kept before the rest comes.
const slowly = `rules:
  - when: slowly
    steps: [{deltas: ["Well, ", {after: 600ms, text: "let me "}, {after: 600ms, text: "think."}]}]
steps: [{text: fine, repeat: true}]
`

const slowAnswer = "Well, let me think."

// attached sends a prompt and passes its numbered frames on while it runs. The
// answer comes on reply, or an error when the connection is cut.
type attached struct {
	frames chan sessions.Frame
	reply  chan api.Reply
	lost   chan error
}

func attach(ctx context.Context, w *wire, args api.PromptArgs) *attached {
	a := &attached{make(chan sessions.Frame, 1000), make(chan api.Reply, 1), make(chan error, 1)}
	go func() {
		defer close(a.frames)
		reply, err := w.send(ctx, api.OpPrompt, args, func(f sessions.Frame) { a.frames <- f })
		if err != nil {
			a.lost <- err
			return
		}
		a.reply <- reply
	}()
	return a
}

// until returns the frames up to the first of a type.
func (a *attached) until(t *testing.T, last sessions.FrameType) []sessions.Frame {
	t.Helper()
	var seen []sessions.Frame
	for f := range a.frames {
		if seen = append(seen, f); f.Type() == last {
			return seen
		}
	}
	require.Fail(t, "the stream ended without a frame", "of type %s", last)
	return nil
}

// textOf is the text of the attempt that stands among frames, put together as a
// reader does.
func textOf(all []sessions.Frame) (text string, attempt int) {
	for _, f := range all {
		part, ok := f.Body.(sessions.TextPart)
		if !ok {
			continue
		}
		if part.Attempt != attempt {
			text, attempt = "", part.Attempt
		}
		text = text[:min(int(part.Offset), len(text))] + part.Text
	}
	return text, attempt
}

func terminals(all []sessions.Frame) (n int) {
	for _, f := range all {
		if f.Type().Terminal() {
			n++
		}
	}
	return n
}

// A crash in the middle of a model call: the call is repeated, as another
// attempt, whose text takes the place of the first; there is one answer.
func TestACrashInAModelCallRepeatsIt(t *testing.T) {
	folder := t.TempDir()
	args := append(writeScript(t, folder, slowly), "--listen", freeAddress(t))
	host := serve(t, folder, args...)
	w := wireTo(t, host.url)
	prompt := api.PromptArgs{Address: byKey("k"), Text: "slowly", RequestID: "r1"}
	first := attach(waiting(t), w, prompt)
	before := first.until(t, sessions.FrameText)
	text, attempt := textOf(before)
	require.True(t, text != "" && strings.HasPrefix(slowAnswer, text), text)
	require.Equal(t, 1, attempt)
	host.kill()
	require.Error(t, <-first.lost)

	host = serve(t, folder, args...)
	second := attach(waiting(t), w, prompt)
	after := second.until(t, sessions.FrameCompleted)
	reply := <-second.reply
	require.NoError(t, reply.Err())
	var result api.PromptResult
	require.NoError(t, json.Unmarshal(reply.Result, &result))
	require.True(t, result.Duplicate)
	require.Equal(t, slowAnswer, sessions.TextOf(result.Message.Content))

	require.Equal(t, before, after[:len(before)], "what was seen before the crash comes again as it was")
	text, attempt = textOf(after)
	require.Equal(t, slowAnswer, text)
	require.Equal(t, 2, attempt)
	require.Equal(t, 1, terminals(after))
	all := frames(t, w, prompt.Address)
	require.Equal(t, after, all)
	require.Equal(t, []string{slowAnswer}, texts(history(t, w, prompt.Address), sessions.RoleAssistant))
	turn := fetch[api.TurnResult](t, w, api.OpTurn, api.TurnArgs{Address: prompt.Address, RequestID: "r1"}).Turn
	require.Equal(t, 1, turn.Attempts)
	require.Equal(t, 1, turn.Iterations)
	host.stop(t)
}

// While a turn of the last host is taken up, its session is as busy as with any.
func TestASessionWhoseTurnIsTakenUpIsBusy(t *testing.T) {
	folder := t.TempDir()
	args := append(writeScript(t, folder, slowly), "--listen", freeAddress(t))
	host := serve(t, folder, args...)
	w := wireTo(t, host.url)
	first := attach(waiting(t), w, api.PromptArgs{Address: byKey("k"), Text: "slowly", RequestID: "r1"})
	first.until(t, sessions.FrameStarted)
	host.kill()

	host = serve(t, folder, args...)
	other := api.PromptArgs{Address: byKey("k"), Text: "and I", RequestID: "r2"}
	for {
		reply, err := w.send(waiting(t), api.OpPrompt, other, nil)
		require.NoError(t, err)
		if reply.OK {
			break // the turn has ended, and r2 had its own
		}
		require.Equal(t, sessions.CodeAgentBusy, codeOf(reply), "%v", reply.Err())
	}
	require.Equal(t, []string{slowAnswer, "fine"}, texts(history(t, w, byKey("k")), sessions.RoleAssistant))
	host.stop(t)
}

// A stop in the middle of a turn: the caller is told which turn goes on after the
// restart, and the same request then has its result. That is no attempt.
func TestAStopInMidTurnIsNoAttempt(t *testing.T) {
	folder := t.TempDir()
	args := append(writeScript(t, folder, slowly, "stopGrace: 10ms"), "--listen", freeAddress(t))
	w := wireTo(t, "http://"+args[len(args)-1])
	prompt := api.PromptArgs{Address: byKey("k"), Text: "slowly", RequestID: "r1"}
	var turn sessions.TurnID
	for range 5 { // more often than a crash is forgiven
		host := serve(t, folder, args...)
		a := attach(waiting(t), w, prompt)
		a.until(t, sessions.FrameStarted)
		host.stop(t)
		reply := <-a.reply
		require.Equal(t, sessions.CodeHostStopping, codeOf(reply))
		require.True(t, reply.Error.Retryable)
		told, _ := reply.Error.Details["turnId"].(string)
		require.NotEmpty(t, told)
		if turn == "" {
			turn = sessions.TurnID(told)
		}
		require.Equal(t, turn, sessions.TurnID(told))
	}

	host := serve(t, folder, args...)
	a := attach(waiting(t), w, prompt)
	after := a.until(t, sessions.FrameCompleted)
	require.Equal(t, 1, terminals(after))
	reply := <-a.reply
	require.NoError(t, reply.Err())
	var result api.PromptResult
	require.NoError(t, json.Unmarshal(reply.Result, &result))
	require.Equal(t, turn, result.TurnID)
	require.True(t, result.Duplicate)
	require.Equal(t, slowAnswer, sessions.TextOf(result.Message.Content))
	got := fetch[api.TurnResult](t, w, api.OpTurn, api.TurnArgs{Address: prompt.Address, RequestID: "r1"}).Turn
	require.Zero(t, got.Attempts)
	require.Equal(t, []string{"slowly"}, texts(history(t, w, prompt.Address), sessions.RoleUser))
	host.stop(t)
}
