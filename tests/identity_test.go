package tests

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/oracle/offline"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// atOnce runs f n times at the same moment and returns what each gave.
func atOnce[R any](n int, f func(i int) R) []R {
	results := make([]R, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			results[i] = f(i)
		})
	}
	close(start)
	all.Wait()
	return results
}

func TestFirstPromptsAtOnceMakeOneSession(t *testing.T) {
	var b *bench
	options := func() hosttest.Options {
		b = newBench(when("work", calls(waitPath), scripted.Step{Text: "done"}))
		return b.options(t, host.Profile{})
	}
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			h := hosttest.New(t, options())
			ways := []caller{{t, d.open(t, h)}, {t, d.open(t, h)}}
			replies := make(chan api.Reply, 2)
			var both sync.WaitGroup
			for _, way := range ways {
				both.Go(func() { replies <- way.prompt("k", "work") })
			}
			<-b.began
			refused := <-replies
			require.Equal(t, sessions.CodeAgentBusy, hosttest.Code(refused))
			close(b.release)
			both.Wait()
			first := hosttest.Result[api.PromptResult](t, <-replies)

			list := hosttest.Result[api.SessionListResult](t, ways[0].call(api.OpSessionList, api.SessionListArgs{}))
			require.Len(t, list.Sessions, 1)
			require.Equal(t, first.SessionID, list.Sessions[0].ID)
			require.EqualValues(t, 1, list.Sessions[0].TurnCount)
		})
	}
}

func TestProfilesHaveSessionsOfTheirOwn(t *testing.T) {
	options := func() hosttest.Options {
		return hosttest.Options{Profiles: map[string]host.Profile{
			sessions.DefaultProfile: {Oracle: offline.New()}, "critic": {Oracle: offline.New()},
		}}
	}
	throughEveryDoor(t, options, func(_ *hosttest.Host, call caller) {
		t := call.t
		prompt := func(profile string) api.PromptResult {
			return hosttest.Result[api.PromptResult](t, call.call(api.OpPrompt,
				api.PromptArgs{Address: api.Address{TargetKey: "k", ProfileKey: profile}, Text: "hello"}))
		}
		own, critic := prompt(""), prompt("critic")
		require.NotEqual(t, own.SessionID, critic.SessionID)
		require.Equal(t, own.SessionID, prompt(sessions.DefaultProfile).SessionID)
		require.Equal(t, critic.SessionID, prompt("critic").SessionID)

		unknown := call.call(api.OpPrompt, api.PromptArgs{Address: api.Address{TargetKey: "k", ProfileKey: "nobody"}, Text: "hello"})
		require.Equal(t, sessions.CodeUnknownProfile, hosttest.Code(unknown))
		list := hosttest.Result[api.SessionListResult](t, call.call(api.OpSessionList, api.SessionListArgs{TargetKey: "k"}))
		require.Len(t, list.Sessions, 2)
	})
}
