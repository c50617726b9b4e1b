package tests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// subscribe opens a subscription on a socket.
func subscribe(t *testing.T, s *hosttest.Socket, args api.SubscribeArgs) api.SubscribeResult {
	t.Helper()
	return hosttest.Result[api.SubscribeResult](t, s.Call(api.OpSubscribe, args))
}

// readUntil reads events of a socket's one subscription up to and with frame seq,
// and requires that numbered frames follow after without a hole or a repeat.
// Deltas are left out.
func readUntil(t *testing.T, s *hosttest.Socket, after, seq int64) (last sessions.Frame) {
	t.Helper()
	for after < seq {
		m := s.Read()
		require.NotNil(t, m.Frame, "want a frame, have %s", m.Text)
		if m.Frame.Seq == 0 {
			continue
		}
		after++
		require.Equal(t, after, m.Frame.Seq)
		last = *m.Frame
	}
	return last
}

// lastFrame is the seq of the newest frame of key "k".
func lastFrame(t *testing.T, h *hosttest.Host) int64 {
	t.Helper()
	page, err := h.Frames(t.Context(), &api.FramesArgs{Address: atK, Order: api.Descending, Limit: new(1)})
	require.NoError(t, err)
	require.NotEmpty(t, page.Frames)
	return page.Frames[0].Seq
}

var atK = api.Address{TargetKey: "k"}

func TestSubscriptionsGoOnAcrossReconnectEvictionAndRestart(t *testing.T) {
	b := newBench()
	h := hosttest.New(t, b.options(t, host.Profile{IdleTTL: 20 * time.Millisecond}))
	prompt := func() int64 {
		t.Helper()
		_, err := h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "hello"}, nil)
		require.NoError(t, err)
		return lastFrame(t, h)
	}
	end := prompt()
	s := h.Socket()
	subscribe(t, s, api.SubscribeArgs{Address: atK, After: sessions.CursorStart})
	last := readUntil(t, s, 0, end)

	t.Run("eviction", func(t *testing.T) {
		awaitEviction(t, h, "k")
		seen := last.Seq
		end = prompt() // through another agent; the subscription has not moved
		last = readUntil(t, s, seen, end)
	})
	t.Run("reconnect", func(t *testing.T) {
		s.Cut()
		end = prompt()
		s = h.Socket()
		opened := subscribe(t, s, api.SubscribeArgs{Address: atK, After: last.Cursor})
		require.Equal(t, last.Cursor, opened.Cursor)
		last = readUntil(t, s, last.Seq, end)
	})
	t.Run("restart", func(t *testing.T) {
		stopped := background(func() (struct{}, error) { h.Stop(); return struct{}{}, nil })
		m := s.Read()
		require.NotNil(t, m.End, m.Text)
		require.Equal(t, api.End{Reason: api.EndStopping, Cursor: last.Cursor}, *m.End)
		_, err := s.TryRead()
		require.Error(t, err)
		<-stopped
		h.Restart()
		end = prompt()
		s = h.Socket()
		subscribe(t, s, api.SubscribeArgs{Address: atK, After: m.End.Cursor})
		readUntil(t, s, last.Seq, end)
	})
	t.Run("events", func(t *testing.T) {
		id := hosttest.Result[api.SessionGetResult](t, h.Socket().Call(api.OpSessionGet, api.SessionGetArgs{Address: atK})).Session.ID
		events := h.FrameEvents(id, "?after=0", string(last.Cursor))
		for seq := last.Seq + 1; seq <= end; seq++ {
			event, ok := events.Next()
			require.True(t, ok)
			require.Equal(t, seq, event.Frame(t).Seq)
			require.Equal(t, string(event.Frame(t).Cursor), event.ID)
		}
	})
}

func TestSubscriptionStartsNowUnlessToldOtherwise(t *testing.T) {
	h := hosttest.New(t, newBench().options(t, host.Profile{}))
	call := caller{t, httpDoor(t, h)}
	call.mustPrompt("k", "one")
	before := lastFrame(t, h)
	s := h.Socket()
	subscribe(t, s, api.SubscribeArgs{Address: atK})
	call.mustPrompt("k", "two")
	readUntil(t, s, before, lastFrame(t, h))
}

func TestSubscriptionCursorsBelongToOneLife(t *testing.T) {
	h := hosttest.New(t, newBench().options(t, host.Profile{}))
	call := caller{t, httpDoor(t, h)}
	call.mustPrompt("k", "one")
	call.mustPrompt("other", "one")
	s := h.Socket()
	cursorOf := func(key string) sessions.Cursor {
		page, err := h.Frames(t.Context(), &api.FramesArgs{Address: api.Address{TargetKey: key}})
		require.NoError(t, err)
		return page.Frames[len(page.Frames)-1].Cursor
	}
	mine, others := cursorOf("k"), cursorOf("other")
	life, seq, err := mine.Position("")
	require.NoError(t, err)
	require.NoError(t, deleted(h.Client.SessionDelete(t.Context(), api.SessionDeleteArgs{Address: atK})))
	gone := s.Call(api.OpSubscribe, api.SubscribeArgs{Address: atK, After: mine})
	require.Equal(t, sessions.CodeSessionDeleted, hosttest.Code(gone), "although the key has no session")
	call.mustPrompt("k", "again")

	for _, c := range []struct {
		name   string
		cursor sessions.Cursor
		code   sessions.Code
	}{
		{"of a deleted life", mine, sessions.CodeSessionDeleted},
		{"of another session", others, sessions.CodeNotFound},
		{"of no session", sessions.CursorAt(life+1000, 1), sessions.CodeNotFound},
		{"ahead", sessions.CursorAt(life+2, seq+1), sessions.CodeInvalidRequest},
		{"at the end", sessions.CursorAt(life+2, seq), ""},
		{"no cursor", "x", sessions.CodeInvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := h.Socket().Call(api.OpSubscribe, api.SubscribeArgs{Address: atK, After: c.cursor})
			require.Equal(t, c.code, hosttest.Code(reply))
			frames := call.call(api.OpFrames, api.FramesArgs{Address: atK, After: c.cursor})
			require.Equal(t, c.code, hosttest.Code(frames))
			_, err := h.Subscribe(t.Context(), &api.SubscribeArgs{Address: atK, After: c.cursor})
			if c.code != "" {
				require.Equal(t, c.code, sessions.CodeOf(err))
				return
			}
			require.NoError(t, err)
		})
	}
}

func deleted(result *api.SessionDeleteResult, err error) error {
	if err == nil && !result.Deleted {
		return errors.New("there was nothing to delete")
	}
	return err
}

func TestSubscriptionsEndWithTheirSession(t *testing.T) {
	h := hosttest.New(t, newBench().options(t, host.Profile{}))
	caller{t, httpDoor(t, h)}.mustPrompt("k", "one")
	end := lastFrame(t, h)
	s := h.Socket()
	subscribe(t, s, api.SubscribeArgs{Address: atK, After: sessions.CursorStart})
	last := readUntil(t, s, 0, end)
	require.NoError(t, deleted(h.Client.SessionDelete(t.Context(), api.SessionDeleteArgs{Address: atK})))
	m := s.Read()
	require.NotNil(t, m.End, m.Text)
	require.Equal(t, api.End{Reason: api.EndDeleted, Cursor: last.Cursor}, *m.End)
}

func TestSubscriptionsAreLimited(t *testing.T) {
	o := newBench().options(t, host.Profile{})
	o.Config.Limits = sessions.DefaultLimits()
	o.Config.Limits.Subscriptions = 2
	h := hosttest.New(t, o)
	caller{t, httpDoor(t, h)}.mustPrompt("k", "one")
	s := h.Socket()
	first := subscribe(t, s, api.SubscribeArgs{Address: atK})
	events := h.FrameEvents(sessionOf(t, h, "k"), "", "")
	require.Equal(t, 200, events.Status)

	over := s.Call(api.OpSubscribe, api.SubscribeArgs{Address: atK})
	require.Equal(t, sessions.CodeOverloaded, hosttest.Code(over))
	require.True(t, over.Error.Retryable)
	require.Equal(t, "subscriptions", over.Error.Details["limit"])
	require.Equal(t, 429, h.FrameEvents(sessionOf(t, h, "k"), "", "").Status)

	require.Empty(t, hosttest.Code(s.Call(api.OpUnsubscribe, api.UnsubscribeArgs{Sub: first.Sub})))
	subscribe(t, s, api.SubscribeArgs{Address: atK})
	s.Cut()
	require.Eventually(t, func() bool { // a lost connection gives its place back
		sub, err := h.Subscribe(context.WithoutCancel(t.Context()), &api.SubscribeArgs{Address: atK})
		if err != nil {
			return false
		}
		sub.Close()
		return true
	}, hosttest.Patience, 5*time.Millisecond)
}

func sessionOf(t *testing.T, h *hosttest.Host, key string) sessions.SessionID {
	t.Helper()
	got, err := h.SessionGet(t.Context(), &api.SessionGetArgs{Address: api.Address{TargetKey: key}})
	require.NoError(t, err)
	return got.Session.ID
}

// A reader that does not read ends alone: with its cursor, from which it misses
// nothing, while another reader and the turn itself go on.
func TestSlowSubscriptionsEndAlone(t *testing.T) {
	const steps, deltas = 8, 200 // together more than a reader may be behind
	step := manyDeltas(deltas)
	step.Calls = calls(waitPath).Calls
	script := slices.Repeat([]scripted.Step{step}, steps)
	b := newBench(when("talk", append(script, scripted.Step{Text: "done"})...))
	h := hosttest.New(t, b.options(t, host.Profile{}))
	caller{t, httpDoor(t, h)}.mustPrompt("k", "one")
	start := lastFrame(t, h)

	slow, err := h.Subscribe(t.Context(), &api.SubscribeArgs{Address: atK})
	require.NoError(t, err)
	defer slow.Close()
	quick := h.Socket()
	subscribe(t, quick, api.SubscribeArgs{Address: atK})
	running := background(func() (*api.PromptResult, error) {
		return h.Client.Prompt(t.Context(), api.PromptArgs{Address: atK, Text: "talk"}, nil)
	})
	c := newCollector(t, start)
	for c.ends == 0 {
		m := quick.Read()
		require.NotNil(t, m.Frame, m.Text)
		c.take(*m.Frame)
		if m.Frame.Type() == sessions.FrameToolCall {
			b.release <- struct{}{} // the quick one has read up to here
		}
	}
	result := <-running
	require.NoError(t, result.err)
	for n := 1; n <= steps; n++ {
		require.Equal(t, textOf(step), c.text[n])
	}

	_, err = slow.Next(t.Context())
	var ended *api.EndError
	require.ErrorAs(t, err, &ended)
	require.Equal(t, api.EndSlow, ended.Reason)
	require.Equal(t, slow.Cursor(), ended.Cursor)
	again := h.Socket()
	subscribe(t, again, api.SubscribeArgs{Address: atK, After: ended.Cursor})
	final := readUntil(t, again, start, c.seq)
	require.Equal(t, result.value.TurnID, final.TurnID)
	require.Equal(t, sessions.FrameCompleted, final.Type())
}

// Several subscriptions of one connection keep their own names and order.
func TestSubscriptionsOfOneConnectionAreApart(t *testing.T) {
	h := hosttest.New(t, newBench().options(t, host.Profile{}))
	call := caller{t, httpDoor(t, h)}
	s := h.Socket()
	next := map[string]int64{}
	for i := range 3 {
		key := fmt.Sprintf("k%d", i)
		_, err := h.SessionCreate(t.Context(), &api.SessionCreateArgs{Address: api.Address{TargetKey: key}})
		require.NoError(t, err)
		next[subscribe(t, s, api.SubscribeArgs{Address: api.Address{TargetKey: key}}).Sub] = 1
	}
	for i := range 3 {
		call.mustPrompt(fmt.Sprintf("k%d", i), "hello")
	}
	for done := 0; done < 3; {
		m := s.Read()
		require.NotNil(t, m.Frame, m.Text)
		if m.Frame.Seq == 0 {
			continue
		}
		require.Equal(t, next[m.Sub], m.Frame.Seq)
		next[m.Sub]++
		if m.Frame.Type().Terminal() {
			done++
		}
	}
}
