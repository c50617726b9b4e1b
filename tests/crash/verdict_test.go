package crash

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// judge requires that the family is whole, or that what its delete is about is
// gone wholly, and that nobody was told otherwise. It returns which it is.
func (f *family) judge(t *testing.T, now census) string {
	t.Helper()
	require.Empty(t, f.faults)
	var there, missing, half []sessions.SessionID
	for _, m := range f.members {
		_, living := now.living[m.id]
		_, hidden := now.hidden[m.id]
		switch {
		case !m.doomed:
			require.True(t, living || !m.told, "session %s is not deleted and is gone", m.id)
		case living:
			there = append(there, m.id)
		case m.told:
			missing = append(missing, m.id)
		}
		if hidden {
			half = append(half, m.id)
		}
	}
	if len(there) == 0 {
		require.False(t, f.refused, "the delete of family %s was refused, and is done", f.name)
		f.gone = true
		return f.judgeGone(t, now, half)
	}
	require.Empty(t, missing, "a part of family %s is gone, and %v is there", f.name, there)
	require.Empty(t, half)
	require.False(t, f.gone || f.deleted, "family %s was deleted, and %v is there", f.name, there)
	f.members = slices.DeleteFunc(f.members, func(m *member) bool {
		_, living := now.living[m.id]
		m.told = living
		return !living
	})
	return "not begun"
}

func (f *family) judgeGone(t *testing.T, now census, half []sessions.SessionID) string {
	t.Helper()
	if f.complete {
		for _, m := range f.members {
			if m.doomed {
				require.Empty(t, now.named[m.id], "session %s is wholly removed, a client was told", m.id)
			}
		}
		return "complete"
	}
	state := "hidden"
	if len(half) == 0 {
		state = "removed"
	}
	if f.deleted {
		return state + ", a client knows"
	}
	return state + ", nobody knows"
}

// hasLost reports whether a session was deleted with what the delete is about.
func (f *family) hasLost(id sessions.SessionID) bool { return f.gone && f.isDoomed(id) }

// repeat asks for a turn again after the restart.
func (f *family) repeat(ctx context.Context, w *wire, r *running) {
	reply, err := w.send(ctx, api.OpPrompt, r.prompt, nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.fault("a repeat has no answer: %v", err)
		return
	}
	gone := f.hasLost(r.prompt.SessionID)
	if gone != (codeOf(reply) == sessions.CodeSessionDeleted) {
		f.fault("a repeat for %s, which is gone: %t, was told %q", r.prompt.SessionID, gone, codeOf(reply))
	}
	if !gone && reply.Error != nil {
		f.fault("a turn of %s, which lives on, ended with %q: %v", r.prompt.SessionID, codeOf(reply), reply.Err())
	}
}
