package tests

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// manyDeltas is a step that streams n pieces of text.
func manyDeltas(n int) scripted.Step {
	var step scripted.Step
	for i := range n {
		step.Deltas = append(step.Deltas, scripted.Delta{Text: fmt.Sprintf("%d ", i)})
	}
	return step
}

// textOf is the whole text of a step.
func textOf(step scripted.Step) string {
	text := step.Text
	for _, d := range step.Deltas {
		text += d.Text
	}
	return text
}

// collector puts a turn's text together as a reader does: from deltas and text
// frames, dropping what it has by step, attempt and offset.
type collector struct {
	t    *testing.T
	seq  int64
	text map[int]string // by step
	ends int            // terminal frames
}

func newCollector(t *testing.T, after int64) *collector {
	t.Helper()
	return &collector{t: t, seq: after, text: map[int]string{}}
}

// take takes in a frame and requires that none is missing or came twice.
func (c *collector) take(f sessions.Frame) {
	c.t.Helper()
	if f.Seq > 0 {
		c.seq++
		require.Equal(c.t, c.seq, f.Seq)
	}
	switch body := f.Body.(type) {
	case sessions.Delta:
		c.add(sessions.TextPart(body))
	case sessions.TextPart:
		c.add(body)
	case sessions.Gap:
		require.Fail(c.t, "a gap in a turn that runs")
	}
	if f.Type().Terminal() {
		c.ends++
	}
}

func (c *collector) add(p sessions.TextPart) {
	c.t.Helper()
	have := c.text[p.Step]
	require.LessOrEqual(c.t, int(p.Offset), len(have), "text is missing")
	if end := int(p.Offset) + len(p.Text); end > len(have) {
		require.True(c.t, strings.HasPrefix(p.Text, have[p.Offset:]))
		c.text[p.Step] = have[:p.Offset] + p.Text
	}
}

// Many prompts on one connection at once: of each, every frame comes before its
// reply, in order and whole.
func TestCase37FramesComeBeforeTheirReply(t *testing.T) {
	const prompts = 40
	b := newBench(when("talk", scripted.Step{Deltas: manyDeltas(50).Deltas, Calls: calls("/builtin/time", "/builtin/time").Calls}, manyDeltas(50)),
		when("break", scripted.Step{Text: "hm", Fail: "no"}))
	h := hosttest.New(t, b.options(t, host.Profile{}))
	s := h.Socket()
	turns := map[string]*collector{}
	for i := range prompts {
		text := []string{"talk", "hello", "break"}[i%3]
		id := s.Request(api.OpPrompt, api.PromptArgs{Address: api.Address{TargetKey: fmt.Sprint(i)}, Text: text, Stream: true})
		turns[id] = newCollector(t, 0)
	}
	replied := map[string]bool{}
	for len(replied) < prompts {
		m := s.Read()
		require.NotNil(t, m.ID)
		require.False(t, replied[*m.ID], "after its reply: %s", m.Text)
		if m.Frame != nil {
			turns[*m.ID].take(*m.Frame)
			continue
		}
		replied[*m.ID] = true
		c := turns[*m.ID]
		require.Equal(t, 1, c.ends, "the terminal frame precedes the reply")
		if m.OK {
			result := hosttest.Result[api.PromptResult](t, m.Reply)
			require.Equal(t, sessions.TextOf(result.Message.Content), c.text[result.Iterations])
		}
	}
}

// The same as events of HTTP.
func TestCase37EventsComeBeforeTheirReply(t *testing.T) {
	b := newBench(when("talk", manyDeltas(200)))
	h := hosttest.New(t, b.options(t, host.Profile{}))
	var streams []*hosttest.Events
	for i := range 8 {
		streams = append(streams, h.PostEvents(api.OpPrompt, api.PromptArgs{Address: api.Address{TargetKey: fmt.Sprint(i)}, Text: "talk"}))
	}
	for _, stream := range streams {
		c := newCollector(t, 0)
		events := stream.Rest()
		for _, e := range events[:len(events)-1] {
			c.take(e.Frame(t))
		}
		require.Equal(t, 1, c.ends)
		require.Equal(t, "reply", events[len(events)-1].Name, "the terminal frame precedes the reply")
	}
}

// Attaching in the middle of a turn, as a snapshot and then what comes: nothing
// is missing, nothing is there twice, at whatever moment.
func TestCase36AttachInMidTurn(t *testing.T) {
	const readers, steps = 1000, 10
	gate := make(chan struct{})
	step := manyDeltas(8)
	step.Gate, step.Calls = gate, calls("/builtin/time").Calls
	last := step
	last.Calls = nil
	b := newBench(when("talk", append(slices.Repeat([]scripted.Step{step}, steps-1), last)...))
	h := hosttest.New(t, b.options(t, host.Profile{}))
	running := background(func() (*api.PromptResult, error) {
		return h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "talk"}, nil)
	})
	require.NoError(t, b.oracle.Await(t.Context(), 1))

	var all sync.WaitGroup
	for i := range readers {
		if i%(readers/(steps-1)) == 1 && i < readers-steps {
			gate <- struct{}{} // the last step waits until all are there
		}
		page, err := h.Frames(t.Context(), &api.FramesArgs{Address: atK, Limit: new(1000)}) // the snapshot
		require.NoError(t, err)
		seen := page.Frames[len(page.Frames)-1].Cursor
		s := h.Socket()
		opened := subscribe(t, s, api.SubscribeArgs{Address: atK, After: []sessions.Cursor{seen, sessions.CursorStart}[i%2]})
		_, after, err := opened.Cursor.Position("")
		require.NoError(t, err)
		all.Go(func() {
			c := follow(t, s, after)
			for n := 1; after == 0 && n <= steps; n++ {
				if c.text[n] != textOf(step) {
					t.Errorf("text of step %d is missing", n)
				}
			}
		})
	}
	close(gate)
	result := <-running
	require.NoError(t, result.err)
	all.Wait()
}

// follow reads a subscription up to the end of the turn.
func follow(t *testing.T, s *hosttest.Socket, after int64) *collector {
	t.Helper()
	c := newCollector(t, after)
	live := map[int]bool{} // steps whose text is seen from its beginning
	for c.ends == 0 {
		m, err := s.TryRead()
		if err != nil || m.Frame == nil {
			t.Errorf("want a frame, have %s, %v", m.Text, err)
			return c
		}
		if delta, ok := m.Frame.Body.(sessions.Delta); ok {
			// Deltas before the attach are gone; their text comes as a text frame.
			if !live[delta.Step] && int(delta.Offset) > len(c.text[delta.Step]) {
				continue
			}
			live[delta.Step] = true
		}
		c.take(*m.Frame)
	}
	return c
}
