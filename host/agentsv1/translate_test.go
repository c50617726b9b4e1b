package agentsv1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// playback gives frames to a translator and keeps the events that they come to.
type playback struct {
	t      *testing.T
	by     *translator
	seq    int64
	events []event
}

func newPlayback(t *testing.T) *playback {
	t.Helper()
	return &playback{t: t, by: &translator{maker: itemMaker{life: 1},
		before:      func(sessions.TurnID) (int64, error) { return 7, nil },
		clientTools: func(sessions.TurnID) (map[string]bool, error) { return map[string]bool{"/desk/look": true}, nil }}}
}

// play returns the names of the events of some frames of a turn.
func (p *playback) play(turn sessions.TurnID, bodies ...sessions.FrameBody) (names []string) {
	p.t.Helper()
	for _, body := range bodies {
		f := sessions.Frame{TurnID: turn, Body: body}
		if f.Type() != sessions.FrameDelta {
			p.seq++
			f.Seq = p.seq
		}
		events, err := p.by.frame(f)
		require.NoError(p.t, err)
		for _, e := range events {
			names = append(names, strings.TrimPrefix(strings.TrimPrefix(e.name, eventRoot), "turn."))
		}
		p.events = append(p.events, events...)
	}
	return names
}

func asks(text string) sessions.MessageAppended {
	return sessions.MessageAppended{Message: sessions.Message{Seq: 8, Role: sessions.RoleUser, Content: sessions.Text(text), TurnID: "t"}}
}

func replies(seq int64, text string, calls ...sessions.ToolCall) sessions.MessageAppended {
	return sessions.MessageAppended{Message: sessions.Message{Seq: seq, Role: sessions.RoleAssistant, Content: sessions.Text(text), ToolCalls: calls, TurnID: "t"}}
}

func TestTextThatComesLateIsNotToldAgain(t *testing.T) {
	p := newPlayback(t)
	part := sessions.TextPart{Step: 1, Attempt: 1, Text: "one"}
	p.play("t", sessions.Accepted{}, sessions.Started{}, asks("hi"))
	require.Equal(t, []string{"item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "item.done"},
		p.play("t", sessions.Delta(part), part, replies(9, "one")))
	require.Empty(t, p.play("t", sessions.Delta(part)), "of a step that is complete")
	require.Equal(t, []string{"item.added", "content_part.added", "output_text.delta"}, p.play("t", sessions.Delta{Step: 2, Attempt: 1, Text: "two"}))
	require.Equal(t, []string{"output_text.done", "content_part.done", "item.done", "cancelled", "idle"}, p.play("t", sessions.Cancelled{}))
	require.Empty(t, p.play("t", sessions.Delta{Step: 2, Attempt: 1, Offset: 3, Text: "two"}), "of a turn that has ended")
}

func TestATurnThatTakesUpAnotherBeginsAtOnePlace(t *testing.T) {
	begins := func(bodies ...sessions.FrameBody) []string {
		p := newPlayback(t)
		p.play("t", append([]sessions.FrameBody{sessions.Accepted{}, sessions.Started{}}, bodies...)...)
		require.Equal(t, eventRoot+"in_progress", p.events[1].name)
		return []string{p.events[1].at.id(), p.events[2].at.id()}
	}
	part := sessions.TextPart{Step: 1, Attempt: 1, Text: "one"}
	streamed := begins(sessions.Delta(part))
	require.Equal(t, streamed, begins(part), "whether its text was streamed or is told again")
	require.Equal(t, streamed, begins(replies(9, "one")))
	require.Equal(t, streamed, begins(sessions.Failed{}))
}

func TestATurnThatNeverStartsIsToldBesideTheOneThatRuns(t *testing.T) {
	p := newPlayback(t)
	call := sessions.ToolCall{ID: "c", Path: "/builtin/echo", Args: json.RawMessage(`{}`)}
	p.play("t", sessions.Accepted{}, sessions.Started{}, asks("hi"), replies(9, "look", call))
	require.Equal(t, []string{"created", "cancelled"}, p.play("other", sessions.Cancelled{}))
	require.Equal(t, []string{"item.done"}, p.play("t", sessions.CallEnded{CallID: "c", Output: json.RawMessage(`1`)}), "it goes on as if nothing had been")
	p.play("t", sessions.Completed{})
	require.Equal(t, []string{"created", "failed", "failed"}, p.play("third", sessions.Failed{}), "with nothing that runs the session ends with it")
}

func TestCallsOfClientsAreToldWhenTheyWait(t *testing.T) {
	p := newPlayback(t)
	look := sessions.ToolCall{ID: "l", Path: "/desk/look", Args: json.RawMessage(`{}`)}
	echo := sessions.ToolCall{ID: "e", Path: "/builtin/echo", Args: json.RawMessage(`{}`)}
	never := sessions.ToolCall{ID: "n", Path: "/desk/look", Args: json.RawMessage(`{}`)}
	p.play("t", sessions.Accepted{}, sessions.Started{}, asks("hi"))
	require.Equal(t, []string{"item.added"}, p.play("t", replies(9, "", look, echo, never)), "the host's own")
	approval := sessions.Pending{CallID: "l", Kind: sessions.PendingApproval}
	require.Equal(t, []string{"requires_action"}, p.play("t", sessions.Waiting{Pending: []sessions.Pending{approval}}))
	require.Equal(t, []string{"in_progress"}, p.play("t", sessions.Answered{CallID: "l"}))
	waits := sessions.Pending{CallID: "l", Kind: sessions.PendingClientTool}
	require.Equal(t, []string{"item.added", "item.done", "requires_action"}, p.play("t", sessions.Waiting{Pending: []sessions.Pending{waits}}))
	require.Equal(t, []string{"in_progress"}, p.play("t", sessions.Answered{CallID: "l"}))
	require.Equal(t, []string{"item.added"},
		p.play("t", sessions.CallEnded{CallID: "l", Output: json.RawMessage(`1`)}), "its result")
	require.Equal(t, []string{"item.done"}, p.play("t", sessions.CallEnded{CallID: "e", Output: json.RawMessage(`1`)}))
	require.Equal(t, []string{"item.done", "item.added"},
		p.play("t", sessions.CallEnded{CallID: "n", Error: &sessions.ErrorInfo{Message: "no"}}), "one that never waited, and its result")
	require.Empty(t, p.play("t", sessions.CallEnded{CallID: "n"}), "a result is told once")
}
