package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// places are where frames are kept.
var places = []string{sqlite.FramesRecord, sqlite.FramesFile}

// onDisk returns the size of a store: its file and what lies beside it.
func onDisk(t *testing.T, file string) (size int64) {
	t.Helper()
	beside, err := filepath.Glob(file + "*")
	require.NoError(t, err)
	for _, root := range beside {
		if strings.HasSuffix(root, "-shm") {
			continue // holds nothing
		}
		require.NoError(t, filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			size += info.Size()
			return err
		}))
	}
	return size
}

func TestCase23ManyDeltasTakeLittleSpace(t *testing.T) {
	const count, delta = 10_000, "twenty bytes of text"
	deltas := make([]scripted.Delta, count)
	for i := range deltas {
		deltas[i].Text = delta
	}
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			o := newBench(when("talk", scripted.Step{Deltas: deltas})).options(t, host.Profile{})
			o.Store.Frames = place
			h := hosttest.New(t, o)
			call := caller{t, httpDoor(t, h)}
			call.mustPrompt("k", "hello")
			h.Restart()
			before := onDisk(t, h.File)
			said := call.mustPrompt("k", "talk")
			require.Len(t, said, count*len(delta))
			h.Restart()
			grown := onDisk(t, h.File) - before
			t.Logf("%d bytes of text take %d bytes on disk", len(said), grown)
			require.Less(t, grown, int64(3*len(said)))
		})
	}
}

// kinds returns what frames tell: numbers for those that have one, gaps.
func kinds(frames []sessions.Frame) (told []any) {
	for _, f := range frames {
		if f.Seq == 0 {
			told = append(told, f.Body)
		} else {
			told = append(told, f.Seq)
		}
	}
	return told
}

// requireTold requires what is told of the frames of key "k" from a position on,
// by $frames forwards and backwards, and by a subscription.
func requireTold(t *testing.T, h *hosttest.Host, after sessions.Cursor, want ...any) {
	t.Helper()
	forward, err := h.Frames(t.Context(), &api.FramesArgs{Address: atK, After: after})
	require.NoError(t, err)
	require.Equal(t, want, kinds(forward.Frames))
	backward, err := h.Frames(t.Context(), &api.FramesArgs{Address: atK, After: after, Order: api.Descending})
	require.NoError(t, err)
	told := kinds(backward.Frames)
	for i := range told {
		require.Equal(t, want[len(want)-1-i], told[i])
	}
	require.Len(t, told, len(want))

	s := h.Socket()
	subscribe(t, s, api.SubscribeArgs{Address: atK, After: after})
	var followed []sessions.Frame
	for range want {
		m := s.Read()
		require.NotNil(t, m.Frame, m.Text)
		followed = append(followed, *m.Frame)
	}
	require.Equal(t, want, kinds(followed))
	next, err := h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "and on"}, nil)
	require.NoError(t, err)
	require.NotEmpty(t, next.TurnID)
	first := s.Read()
	for first.Frame != nil && first.Frame.Seq == 0 {
		require.NotEqual(t, sessions.FrameGap, first.Frame.Type(), "a gap is told once")
		first = s.Read()
	}
	require.Equal(t, sessions.FrameAccepted, first.Frame.Type())
	s.Cut()
}

func TestCutFramesAreToldAsGaps(t *testing.T) {
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			o := newBench().options(t, host.Profile{})
			o.Store.Frames = place
			o.Store.FramesPerSession = 10
			h := hosttest.New(t, o)
			call := caller{t, httpDoor(t, h)}
			for range 4 {
				call.mustPrompt("k", "hello")
			}
			end := lastFrame(t, h)
			var want []any
			want = append(want, sessions.Gap{From: 1, To: end - 10})
			for seq := end - 9; seq <= end; seq++ {
				want = append(want, seq)
			}
			requireTold(t, h, sessions.CursorStart, want...)
		})
	}
}

// What a loss of power takes is told, and the end of the turn is there.
func TestLostFramesAreToldAsGaps(t *testing.T) {
	o := newBench().options(t, host.Profile{})
	o.Store.Frames = sqlite.FramesFile
	h := hosttest.New(t, o)
	call := caller{t, httpDoor(t, h)}
	call.mustPrompt("k", "one")
	lost := lastFrame(t, h)
	call.mustPrompt("k", "two")
	end := lastFrame(t, h)
	h.Stop()
	files, err := filepath.Glob(filepath.Join(h.File+".frames", "*", "1.frames"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Truncate(files[0], 100)) // two frames and a piece of the third
	h.Restart()
	want := []any{int64(1), int64(2), sessions.Gap{From: 3, To: lost - 1}}
	for seq := lost; seq <= end; seq++ {
		want = append(want, seq)
	}
	requireTold(t, h, sessions.CursorStart, want...)
}
