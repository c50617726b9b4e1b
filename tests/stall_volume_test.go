//go:build !race

package tests

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tools"
)

// stalled reads a subscription that nobody has read for long, and takes it up
// again wherever it was ended.
type stalled struct {
	t       *testing.T
	cursor  sessions.Cursor
	seq     int64 // of the last frame that was seen or told to be cut
	missing int64 // how many were told to be cut
	ends    int   // how often the subscription was ended
}

// read reads what a socket has, until it has frame last or is ended.
func (s *stalled) read(socket *hosttest.Socket, last int64) {
	s.t.Helper()
	for s.seq < last {
		m, err := socket.TryRead()
		if err != nil || m.End != nil {
			s.ends++
			return
		}
		require.NotNil(s.t, m.Frame, "%s", m.Text)
		if gap, ok := m.Frame.Body.(sessions.Gap); ok {
			require.Equal(s.t, s.seq+1, gap.From, "a gap begins where the frames end")
			s.missing += gap.To - gap.From + 1
			s.seq = gap.To
		}
		if m.Frame.Seq == 0 {
			continue
		}
		require.Equal(s.t, s.seq+1, m.Frame.Seq, "no frame is missing unsaid")
		s.seq, s.cursor = m.Frame.Seq, m.Frame.Cursor
	}
}

// Field case 34: a reader stalls while a hundred thousand frames are made. What
// it gets in the end is without a hole, or says where there is one; and the
// writer never waited for it.
func TestCase34VolumeReaderStalls(t *testing.T) {
	const frames = 100_000
	var step scripted.Step
	for range 128 {
		step.Calls = append(step.Calls, scripted.Call{Path: tools.EchoPath, Args: `{"text":"x"}`})
	}
	steps := make([]scripted.Step, 25)
	for i := range steps {
		steps[i] = step
	}
	steps[24] = scripted.Step{Text: "done"}
	for name, store := range map[string]sqlite.Config{
		"all frames are kept": {Frames: sqlite.FramesRecord, FramesPerSession: -1},
		"old frames are cut":  {Frames: sqlite.FramesFile, FramesPerSession: frames / 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(when("work", steps...))
			o := b.options(t, host.Profile{})
			o.Store = store
			h := hosttest.New(t, o)
			caller{t, httpDoor(t, h)}.mustPrompt("k", "hello")
			reader := h.Socket()
			subscribe(t, reader, api.SubscribeArgs{Address: atK, After: sessions.CursorStart})
			for lastFrame(t, h) < frames {
				result, err := h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "work"}, nil)
				require.NoError(t, err)
				require.Equal(t, "done", sessions.TextOf(result.Message.Content))
			}

			last := lastFrame(t, h)
			s := &stalled{t: t, cursor: sessions.CursorStart}
			for s.read(reader, last); s.seq < last; s.read(reader, last) {
				require.Less(t, s.ends, 50, "the reader does not come to the end")
				reader = h.Socket()
				subscribe(t, reader, api.SubscribeArgs{Address: atK, After: s.cursor})
			}
			require.Equal(t, last, s.seq)
			t.Logf("%d frames; %d cut; the subscription was ended %d times", last, s.missing, s.ends)
			if store.FramesPerSession < 0 {
				require.Zero(t, s.missing)
			} else {
				require.Positive(t, s.missing)
			}
		})
	}
}
