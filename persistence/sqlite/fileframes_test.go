package sqlite_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

// filed is a store that keeps frames in files, and tests of what is in them.
type filed struct {
	t    *testing.T
	path string
	*sqlite.Store
}

func openFiled(t *testing.T) *filed {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	return &filed{t, path, open(t, path, sqlite.Config{Frames: sqlite.FramesFile})}
}

// reopen closes the store, lets f do something to its files, and opens it.
func (s *filed) reopen(frames string, f func()) {
	s.t.Helper()
	require.NoError(s.t, s.Close())
	if f != nil {
		f()
	}
	s.Store = open(s.t, s.path, sqlite.Config{Frames: frames})
}

func (s *filed) accept(target, request string) sessions.AcceptedTurn {
	s.t.Helper()
	a, err := s.AcceptTurn(s.t.Context(), prompt(target, request))
	require.NoError(s.t, err)
	require.False(s.t, a.Duplicate)
	return a
}

func (s *filed) commit(c sessions.CommitTurn) []sessions.Frame {
	s.t.Helper()
	done, err := s.CommitTurn(s.t.Context(), c)
	require.NoError(s.t, err)
	return done.Frames
}

// words stores some text of a turn that goes on, a frame a word.
func (s *filed) words(a sessions.AcceptedTurn, words ...string) []sessions.Frame {
	s.t.Helper()
	c := sessions.CommitTurn{Fence: a.Session.Fence, TurnID: a.Turn.TurnID, RequestID: a.Turn.RequestID, Now: a.Turn.StartedAt}
	for _, w := range words {
		c.Frames = append(c.Frames, sessions.TextPart{Step: 1, Attempt: 1, Text: w})
	}
	return s.commit(c)
}

func (s *filed) page(life sessions.Incarnation, q sessions.FrameQuery) sessions.FramePage {
	s.t.Helper()
	page, err := s.Frames(s.t.Context(), life, q)
	require.NoError(s.t, err)
	return page
}

// requireFrames requires what is kept of a life and what is missing, forwards
// and backwards, whole and page by page.
func (s *filed) requireFrames(life sessions.Incarnation, want []sessions.Frame, missing ...sessions.Gap) {
	s.t.Helper()
	page := s.page(life, sessions.FrameQuery{})
	require.Equal(s.t, want, page.Frames)
	require.Equal(s.t, missing, page.Missing)
	whole := page.WithGaps(false)
	var forward, backward []sessions.Frame
	last := page.Last
	for q := (sessions.FrameQuery{Limit: 2}); ; {
		page := s.page(life, q)
		forward = append(forward, page.WithGaps(false)...)
		if !page.HasMore {
			break
		}
		q.AfterSeq = page.Frames[1].Seq
	}
	for q := (sessions.FrameQuery{Limit: 2, Descending: true, BeforeSeq: last + 1}); ; {
		page := s.page(life, q)
		backward = append(backward, page.WithGaps(true)...)
		if !page.HasMore {
			break
		}
		q.BeforeSeq = page.Frames[1].Seq
	}
	require.Equal(s.t, whole, forward)
	for i, f := range backward {
		require.Equal(s.t, whole[len(whole)-1-i], f)
	}
	require.Len(s.t, backward, len(whole))
}

// file returns the path of the only file of frames there is.
func (s *filed) file() string {
	s.t.Helper()
	paths := filesIn(s.t, s.path+".frames")
	require.Len(s.t, paths, 2)
	return paths[1]
}

func (s *filed) size(path string) int64 {
	s.t.Helper()
	info, err := os.Stat(path)
	require.NoError(s.t, err)
	return info.Size()
}

func (s *filed) truncate(path string, size int64) {
	s.t.Helper()
	require.NoError(s.t, os.Truncate(path, size))
}

func (s *filed) add(path, text string) {
	s.t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(s.t, err)
	_, err = f.WriteString(text)
	require.NoError(s.t, err)
	require.NoError(s.t, f.Close())
}

func TestFilesAreNamedByNumbersAndPrivate(t *testing.T) {
	s := openFiled(t)
	s.commit(answer(s.accept("../doc", "../request"), "reply"))
	file := s.file()
	require.Equal(t, filepath.Join(s.path+".frames", "1", "1.frames"), file)
	for path, mode := range map[string]fs.FileMode{file: 0o600, filepath.Dir(file): 0o700, s.path + ".frames": 0o700} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "reply", "a message is kept once, and not here")
}

func TestAFolderOfFramesMayBeElsewhere(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept", "here")
	s := open(t, filepath.Join(t.TempDir(), "a.db"), sqlite.Config{Frames: sqlite.FramesFile, FrameFolder: folder})
	require.NoError(t, accepting(t, s, "a")())
	require.Len(t, filesIn(t, folder), 2)
}

func TestASessionKeepsTheWayItBeganWith(t *testing.T) {
	s := openFiled(t)
	a := s.accept("a", "one")
	want := append(a.Frames, s.commit(answer(a, "reply"))...)
	life := a.Session.Fence.Incarnation

	s.reopen(sqlite.FramesRecord, nil)
	a = s.accept("a", "two")
	want = append(append(want, a.Frames...), s.commit(answer(a, "reply"))...)
	s.requireFrames(life, want)
	other := s.accept("b", "three")
	rows, err := s.Rows(t.Context())
	require.NoError(t, err)
	require.Len(t, rows["activity_frames"], 3, "of the session that was made since")

	s.reopen(sqlite.FramesFile, nil)
	s.requireFrames(life, want)
	s.requireFrames(other.Session.Fence.Incarnation, append(other.Frames, s.commit(answer(other, "reply"))...))
}

// What a file has beyond the frames that were committed is of a transaction
// that was cut short.
func TestFramesBeyondTheCommittedAreCut(t *testing.T) {
	for name, tail := range map[string]string{
		"whole frames":        "71ab1c1e 4 1750000000000 text 0 {}\n",
		"a piece of a frame":  "71ab1c1e 4 17500",
		"something else":      "\x00\x00\x00\x00\x00",
		"something, in lines": "\x00\x00\n\x00\x00\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := openFiled(t)
			a := s.accept("a", "one")
			life := a.Session.Fence.Incarnation
			file := s.file()
			if name == "whole frames" {
				frames := s.words(a, "never committed")
				require.Len(t, frames, 1)
				_, err := s.Exec(t.Context(), "UPDATE sessions SET frame_count = 3")
				require.NoError(t, err)
			}
			size := s.size(file)
			s.reopen(sqlite.FramesFile, func() { s.add(file, tail) })
			s.requireFrames(life, a.Frames)
			want := append(a.Frames, s.words(a, "a", "b")...)
			s.requireFrames(life, want)
			require.NotZero(t, size)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotContains(t, string(text), "never committed")
			require.NotContains(t, string(text), tail)
			s.requireFrames(life, append(want, s.commit(answer(a, "reply"))...))
		})
	}
}

// A loss of power may take the newest frames of a file.
func TestALostTailIsAGapAndTheTurnGoesOn(t *testing.T) {
	s := openFiled(t)
	a := s.accept("a", "one")
	life := a.Session.Fence.Incarnation
	file := s.file()
	kept := append(a.Frames, s.words(a, "a")...)
	size := s.size(file)
	s.words(a, "b", "c")
	s.reopen(sqlite.FramesFile, func() { s.truncate(file, size+10) })
	s.requireFrames(life, kept, sessions.Gap{From: 5, To: 6})
	kept = append(kept, s.words(a, "d")...)
	s.requireFrames(life, kept, sessions.Gap{From: 5, To: 6})
	s.reopen(sqlite.FramesFile, func() { require.NoError(t, os.Remove(file)) })
	s.requireFrames(life, nil, sessions.Gap{From: 1, To: 7})
	kept = s.commit(answer(a, "reply"))
	s.requireFrames(life, kept, sessions.Gap{From: 1, To: 7})
}

func TestALostEndIsRebuilt(t *testing.T) {
	failure := sessions.Errorf(sessions.CodeLLMAPIFailure, "The model is away.").Info()
	for _, end := range []sessions.TurnEnd{
		{Status: sessions.TurnIsCompleted}, {Status: sessions.TurnIsCancelled},
		{Status: sessions.TurnIsFailed, Error: failure}, {Status: sessions.TurnIsInterrupted, Error: failure},
	} {
		t.Run(string(end.Status), func(t *testing.T) {
			s := openFiled(t)
			a := s.accept("a", "one")
			life := a.Session.Fence.Incarnation
			file := s.file()
			size := s.size(file)
			c := answer(a, "reply")
			c.End = &end
			done := s.commit(c)
			s.reopen(sqlite.FramesFile, func() { s.truncate(file, size) })
			want := append(a.Frames, done[1])
			s.requireFrames(life, want, sessions.Gap{From: 4, To: 4})
			next := s.accept("a", "two")
			want = append(want, next.Frames...)
			s.requireFrames(life, want, sessions.Gap{From: 4, To: 4})
			s.reopen(sqlite.FramesFile, func() { require.NoError(t, os.Remove(file)) })
			s.requireFrames(life, want[3:], sessions.Gap{From: 1, To: 4})
			page := s.page(life, sessions.FrameQuery{TurnID: a.Turn.TurnID})
			require.Equal(t, want[3:4], page.Frames)
			require.Equal(t, []sessions.Gap{{From: 1, To: 4}}, page.Missing)
		})
	}
}

func TestABatchThatFailsLeavesNothingInFiles(t *testing.T) {
	s := openFiled(t)
	a := s.accept("a", "one")
	file := s.file()
	size := s.size(file)
	require.NoError(t, s.LimitPages(1))
	large := prompt("large", "large")
	large.Content = sessions.Text(string(make([]byte, 1<<20)))
	step := answer(a, "reply")
	step.Messages[0].Content = large.Content
	for _, err := range together(t, s.Store,
		func() error { _, err := s.AcceptTurn(t.Context(), large); return err },
		func() error { _, err := s.CommitTurn(t.Context(), step); return err }) {
		require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(err))
	}
	require.Equal(t, file, s.file(), "no other file is there")
	require.Equal(t, size, s.size(file))
	require.NoError(t, s.LimitPages(1<<30))
	s.requireFrames(a.Session.Fence.Incarnation, append(a.Frames, s.commit(answer(a, "reply"))...))
	_, err := s.AcceptTurn(t.Context(), large)
	require.NoError(t, err)
}

func TestAFileThatCannotBeWrittenFailsItsOwnTurnAlone(t *testing.T) {
	s := openFiled(t)
	a, b := s.accept("a", "one"), s.accept("b", "two")
	s.commit(answer(a, "reply"))
	s.commit(answer(b, "reply"))
	folder := filepath.Join(s.path+".frames", fmt.Sprint(a.Session.Fence.Incarnation))
	require.NoError(t, os.RemoveAll(folder))
	require.NoError(t, os.WriteFile(folder, nil, 0o600))
	errs := together(t, s.Store, accepting(t, s.Store, "a"), accepting(t, s.Store, "b"))
	require.Equal(t, sessions.CodeStoreUnavailable, sessions.CodeOf(errs[0]))
	require.NoError(t, errs[1])
	require.NoError(t, os.Remove(folder))
	require.NoError(t, accepting(t, s.Store, "a")(), "and passes")
}

func TestMoreTurnsThanOpenFiles(t *testing.T) {
	s := openFiled(t)
	const count = 300
	turns := make([]sessions.AcceptedTurn, count)
	for i := range turns {
		turns[i] = s.accept(fmt.Sprint(i), fmt.Sprint(i))
	}
	require.LessOrEqual(t, s.OpenFiles(), 256)
	for _, a := range turns {
		want := append(a.Frames, s.words(a, "word")...)
		s.requireFrames(a.Session.Fence.Incarnation, append(want, s.commit(answer(a, "reply"))...))
	}
	require.Zero(t, s.OpenFiles(), "a turn that has ended needs none")
}

func TestADeletedSessionsFileIsLetGo(t *testing.T) {
	s := openFiled(t)
	a := s.accept("a", "one")
	require.Equal(t, 1, s.OpenFiles())
	_, err := s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("a", "x").At}, nil)
	require.NoError(t, err)
	require.Zero(t, s.OpenFiles())
	_, err = s.CommitTurn(t.Context(), answer(a, "late"))
	require.ErrorIs(t, err, sessions.ErrFenced)
	require.Empty(t, filesIn(t, s.path+".frames"), "a late write leaves nothing")
}

func TestFilesThatACrashLeavesAreSwept(t *testing.T) {
	s := openFiled(t)
	a := s.accept("a", "one")
	s.commit(answer(a, "reply"))
	life := fmt.Sprint(a.Session.Fence.Incarnation)
	root := s.path + ".frames"
	// Of a turn that was never committed, and of a session that is none.
	for _, stray := range []string{filepath.Join(root, life, "99.frames"), filepath.Join(root, "77", "5.frames")} {
		require.NoError(t, os.MkdirAll(filepath.Dir(stray), 0o700))
		require.NoError(t, os.WriteFile(stray, []byte("x"), 0o600))
	}
	other := filepath.Join(root, "notes.txt") // nobody's but the user's
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	after := crashed(t, s.path, sqlite.FramesFile)
	folder := after.FrameFolder()
	require.Len(t, filesIn(t, folder), 6)
	require.NoError(t, after.Sweep(t.Context(), 1_750_000_000_000))
	require.Equal(t, []string{filepath.Join(folder, life), filepath.Join(folder, life, "1.frames"), filepath.Join(folder, "notes.txt")},
		filesIn(t, folder))
}

func TestADeleteCutShortLeavesItsFilesToTheSweep(t *testing.T) {
	s := openFiled(t)
	s.accept("a", "one")
	var after *sqlite.Store
	_, err := s.DeleteSession(t.Context(), sessions.DeleteSession{Owner: sessions.LocalOwner, At: prompt("a", "a").At, TombstoneMs: 1 << 40},
		func([]sessions.DeletedSession) { after = crashed(t, s.path, sqlite.FramesFile) })
	require.NoError(t, err)
	require.Len(t, filesIn(t, after.FrameFolder()), 2)
	require.NoError(t, after.Sweep(t.Context(), 1_750_000_000_000))
	require.Empty(t, filesIn(t, after.FrameFolder()))
}

func TestAClearCutShortLeavesItsFilesToTheSweep(t *testing.T) {
	s := openFiled(t)
	s.accept("a", "one")
	s.accept("b", "two")
	var after *sqlite.Store
	receipt, err := s.ClearOwner(t.Context(), sessions.ClearOwner{Owner: sessions.LocalOwner, TombstoneMs: 1 << 40},
		func(sessions.Incarnation, int64) { after = crashed(t, s.path, sqlite.FramesFile) })
	require.NoError(t, err)
	require.EqualValues(t, 2, receipt.Files)
	require.Len(t, filesIn(t, after.FrameFolder()), 4)
	require.NoError(t, after.Sweep(t.Context(), 1_750_000_000_000))
	require.Empty(t, filesIn(t, after.FrameFolder()))
	require.NoError(t, accepting(t, after, "a")())
}

// A folder that cannot be emptied now is left, and is told from one that may stay
// by every later host, until a sweep succeeds.
func TestFilesThatCannotBeRemovedAreTriedAgain(t *testing.T) {
	s := openFiled(t)
	a := s.accept("a", "one")
	obstacle := filepath.Join(s.path+".frames", fmt.Sprint(a.Session.Fence.Incarnation), "full", "of", "something")
	require.NoError(t, os.MkdirAll(obstacle, 0o700))
	receipt, err := s.ClearOwner(t.Context(), sessions.ClearOwner{Owner: sessions.LocalOwner, TombstoneMs: 1 << 40}, nil)
	require.NoError(t, err)
	require.False(t, receipt.Complete)
	require.Error(t, s.Sweep(t.Context(), 1_750_000_000_000))
	s.reopen(sqlite.FramesFile, nil)
	require.True(t, s.ClosedCleanly())
	require.NoError(t, os.RemoveAll(filepath.Dir(filepath.Dir(obstacle))))
	require.NoError(t, s.Sweep(t.Context(), 1_750_000_000_000))
	require.Empty(t, filesIn(t, s.path+".frames"))
}

func TestRetentionRemovesWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := &filed{t, path, open(t, path, sqlite.Config{Frames: sqlite.FramesFile, FramesPerSession: 10})}
	for i := range 20 {
		s.commit(answer(s.accept("a", fmt.Sprint(i)), "reply"))
	}
	require.Len(t, filesIn(t, path+".frames"), 1+2, "the folder and the files of two turns of five frames")
}
