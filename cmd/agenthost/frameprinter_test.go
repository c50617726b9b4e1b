package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// printed shows frames and returns what came of them.
func printed(t *testing.T, bodies ...sessions.FrameBody) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	p := (&app{stdout: &out, stderr: &errs}).newFramePrinter()
	for _, body := range bodies {
		require.NoError(t, p.print(sessions.Frame{Body: body}))
	}
	require.NoError(t, p.endLine())
	return out.String(), errs.String()
}

func text(step, attempt int, offset int64, text string) sessions.TextPart {
	return sessions.TextPart{Step: step, Attempt: attempt, Offset: offset, Text: text}
}

func delta(step, attempt int, offset int64, s string) sessions.Delta {
	return sessions.Delta(text(step, attempt, offset, s))
}

func TestTextThatComesTwiceIsShownOnce(t *testing.T) {
	out, errs := printed(t, delta(1, 1, 0, "Hé"), delta(1, 1, 3, "llo"), text(1, 1, 0, "Héllo"),
		delta(1, 1, 6, " y"), text(1, 1, 6, " you"), delta(1, 1, 8, "ou"))
	require.Equal(t, "Héllo you\n", out)
	require.Empty(t, errs)
}

func TestWhatToolsDoStandsBetweenTheLinesOfText(t *testing.T) {
	call := sessions.ToolCall{ID: "c", Path: "/a/b", Args: json.RawMessage(`{"x":1}`)}
	out, errs := printed(t, text(1, 1, 0, "Let me see"), sessions.CallStarted{Call: call},
		sessions.CallEnded{CallID: "c", Output: json.RawMessage(`2`), DurationMs: 7}, text(2, 1, 0, "It is 2\n"))
	require.Equal(t, "Let me see\nIt is 2\n", out)
	require.Equal(t, "→ /a/b {\"x\":1}\n← 2 (7 ms)\n", errs)
}

func TestTheIDOfACallThatWaitsIsNeverCut(t *testing.T) {
	call := sessions.Pending{Path: "/client/" + strings.Repeat("pick", 20), CallID: "call_01a22ba7561e7db2b6ae74cc7e0abd2b"}
	_, errs := printed(t, sessions.Waiting{Pending: []sessions.Pending{call}})
	require.Equal(t, "… "+call.Path+" waits for the client's answer: call "+string(call.CallID)+"\n", errs)
}

func TestAFailedCallShowsItsCode(t *testing.T) {
	_, errs := printed(t, sessions.CallEnded{Error: &sessions.ErrorInfo{Code: sessions.CodeToolInvokeFailed, Message: "It broke."}})
	require.Equal(t, "← TOOL_INVOKE_FAILED: It broke. (0 ms)\n", errs)
}

func TestASummaryIsToldOf(t *testing.T) {
	out, errs := printed(t, sessions.Summarised{ThroughSeq: 12, Attempt: 1, Text: "They met."}, text(1, 2, 0, "Yes\n"))
	require.Equal(t, "Yes\n", out)
	require.Equal(t, "(the conversation up to #12 is summarised for the model)\n", errs)
	require.Equal(t, "up to #12: They met.", frameText(sessions.Frame{Body: sessions.Summarised{ThroughSeq: 12, Text: "They met."}}))
}

func TestAnAnswerThatBeginsAgainSaysSo(t *testing.T) {
	out, errs := printed(t, delta(1, 1, 0, "Well, I"), delta(1, 2, 0, "Yes"))
	require.Equal(t, "Well, I\nYes\n", out)
	require.Equal(t, "(the answer begins again)\n", errs)
}

func TestTerminalsGetNoCommandsFromModels(t *testing.T) {
	require.Equal(t, "a[31mb\n\tc", printable("a\x1b[31mb\n\tc\r\x07\u009b"))
	require.Equal(t, "👩\u200d👩 ab", printable("👩\u200d👩 a\u202eb"), "what joins stays, what turns round does not")
	require.Equal(t, "a b…", oneLine("a\n b\tc", 4))
	require.Equal(t, "a b c", oneLine("a\n b\tc", 5))
}
