package actors_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestIdleAgentLeavesAfterItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, actortest.Profiles{
			sessions.DefaultProfile: {Oracle: script()},
			"quick":                 {Oracle: script(), IdleTTL: time.Second},
		}, actortest.Config{Config: actors.Config{IdleTTL: time.Minute}})
		slow, quick := actortest.Key("a"), actortest.Key("a", "quick")
		w.Say(slow, "hello")
		w.Say(quick, "hello")
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, w.Resident(slow))
		require.False(t, w.Resident(quick))
		time.Sleep(58 * time.Second)
		w.Say(slow, "again") // the period starts anew
		time.Sleep(59 * time.Second)
		synctest.Wait()
		require.True(t, w.Resident(slow))
		time.Sleep(time.Second)
		synctest.Wait()
		require.False(t, w.Resident(slow))
		resident, busy := w.System.Counts()
		require.Zero(t, resident)
		require.Zero(t, busy)
		require.Equal(t, "fine", w.Say(slow, "back"))
		require.Len(t, w.History(slow), 6)
	})
}

// like case 31: an agent with a turn is never idle.
func TestCase31ATurnLongerThanTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(script(scripted.Step{Delay: 10 * time.Second, Text: "done"}), func(p *actors.Profile) {
			p.IdleTTL = time.Second
		}), actortest.Config{})
		at := actortest.Key("a")
		call := w.Send(at, "work")
		time.Sleep(9 * time.Second)
		synctest.Wait()
		require.True(t, w.Resident(at))
		require.Equal(t, "done", call.Completed())
	})
}

// prompting sends a prompt every period, in sessions of 50 rounds, and requires
// that each got its own answer once.
func prompting(t *testing.T, w *actortest.World, rounds int, period time.Duration) {
	t.Helper()
	const perSession = 50
	for i := range rounds {
		text := strconv.Itoa(i)
		require.Equal(t, text, w.Say(actortest.Key(strconv.Itoa(i/perSession)), text))
		time.Sleep(period)
	}
	for s := range rounds / perSession {
		at := actortest.Key(strconv.Itoa(s))
		history := w.History(at)
		require.Len(t, history, 2*perSession)
		for i, m := range history {
			require.Equal(t, strconv.Itoa(s*perSession+i/2), sessions.TextOf(m.Content))
		}
		require.Len(t, w.Turns(at), perSession)
	}
}

func TestCase33PeriodEqualToTheTTLInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := actortest.NewInBubble(t, profiles(oracleFunc(repeatUser)), actortest.Config{Config: actors.Config{IdleTTL: time.Second}})
		prompting(t, w, fakeRounds, time.Second)
	})
}

func TestCase33PeriodEqualToTheTTL(t *testing.T) {
	w := actortest.New(t, profiles(oracleFunc(repeatUser)), actortest.Config{Config: actors.Config{IdleTTL: 5 * time.Millisecond}})
	prompting(t, w, 600, 5*time.Millisecond)
}

func TestCase40CancelSoonAfterPromptingAnEvictedSession(t *testing.T) {
	w := world(t, script(scripted.Step{Hang: true}), nil, shortTTL)
	at := actortest.Key("a")
	w.Say(at, "hello")
	for i := range 42 {
		w.AwaitIdle()
		call := w.Send(at, "work")
		time.Sleep(time.Duration(i) * time.Millisecond / 2)
		require.True(t, w.Cancel(at))
		call.Failed(sessions.CodeCancelled)
		require.Equal(t, "fine", w.Say(at, "go on"))
	}
}

// An evicted agent leaves nothing that fires later: no timer, no dead letter.
func TestEvictionLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		w := actortest.NewInBubble(t, profiles(script()), actortest.Config{Config: actors.Config{IdleTTL: time.Minute, Logger: log.logger()}})
		for i := range 10 {
			w.Say(actortest.Key(strconv.Itoa(i)), "hello")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		require.NotContains(t, log.String(), "DeadLetter")
	})
}
