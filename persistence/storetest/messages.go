package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func testMessages(t *testing.T, f Factory) {
	w := newWorld(t, f)
	var life sessions.Incarnation
	for range 5 {
		a, _ := w.turn(byKey("doc", "writer"), w.name("question"), w.name("reply"))
		life = a.Session.Fence.Incarnation
	}
	all := w.history(life)
	require.Len(t, all, 10)
	for _, c := range []struct {
		name     string
		q        sessions.MessageQuery
		from, to int64 // seqs in the order wanted
		more     bool
	}{
		{"all", sessions.MessageQuery{}, 1, 10, false},
		{"first page", sessions.MessageQuery{Limit: 4}, 1, 4, true},
		{"exactly all", sessions.MessageQuery{Limit: 10}, 1, 10, false},
		{"after", sessions.MessageQuery{AfterSeq: 4, Limit: 4}, 5, 8, true},
		{"last page", sessions.MessageQuery{AfterSeq: 8, Limit: 4}, 9, 10, false},
		{"before", sessions.MessageQuery{BeforeSeq: 3}, 1, 2, false},
		{"between", sessions.MessageQuery{AfterSeq: 2, BeforeSeq: 6}, 3, 5, false},
		{"newest first", sessions.MessageQuery{Descending: true, Limit: 3}, 10, 8, true},
		{"newest first, second page", sessions.MessageQuery{Descending: true, BeforeSeq: 3, Limit: 3}, 2, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			page, err := w.store.Messages(t.Context(), life, c.q)
			require.NoError(t, err)
			require.Equal(t, seqs(c.from, c.to), messageSeqs(page.Messages))
			require.Equal(t, c.more, page.HasMore)
		})
	}
	f.run(t, "beyond the end is empty", func(t *testing.T) {
		page, err := w.store.Messages(t.Context(), life, sessions.MessageQuery{AfterSeq: 10})
		require.NoError(t, err)
		require.Empty(t, page.Messages)
	})
	f.run(t, "an unknown life is not found", func(t *testing.T) {
		_, err := w.store.Messages(t.Context(), life+1000, sessions.MessageQuery{})
		requireCode(t, sessions.CodeSessionNotFound, err)
	})
}

// seqs counts from one number to another, up or down.
func seqs(from, to int64) []int64 {
	out := []int64{from}
	for from != to {
		if from < to {
			from++
		} else {
			from--
		}
		out = append(out, from)
	}
	return out
}

func messageSeqs(messages []sessions.Message) (out []int64) {
	for _, m := range messages {
		out = append(out, m.Seq)
	}
	return out
}
