package crash

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// delegates is a model that asks two agents, of which the slow one answers as slow
// says. Each whole answer is in its ledger with the same usage.
func delegates(slow string) string {
	const cost = ", usage: {input: 60, output: 40, cached: 50}}"
	return `rules:
  - when: work
    steps:
      - {calls: [{path: /agents/default, args: {prompt: quick}}, {path: /agents/default, args: {prompt: slow}}]` + cost + `
      - {text: done` + cost + `
  - {when: quick, steps: [{text: one` + cost + `]}
  - {when: slow, steps: [{` + slow + cost + `]}
`
}

// case 51: a parent and two children, one of them killed in its model call and
// taken up again: the sums of usage are the model's own.
func TestCase51UsageOfATreeIsTheLedgersOverAKill(t *testing.T) {
	folder := t.TempDir()
	at := freeAddress(t)
	start := func(slow string) *process {
		return serve(t, folder, append(writeScript(t, folder, delegates(slow)), "--set", "profiles.default.tools=/agents", "--listen", at)...)
	}
	host := start("text: half, hang: true")
	w := wireTo(t, host.url)
	usage := func(args api.UsageArgs) sessions.Usage {
		t.Helper()
		return fetch[api.UsageResult](t, w, api.OpUsage, args).Usage.Usage
	}
	ledger := func(calls int64) sessions.Usage {
		return sessions.Usage{InputTokens: 60 * calls, OutputTokens: 40 * calls, CachedTokens: 50 * calls, Calls: calls}
	}
	byOwner, root := api.UsageArgs{By: sessions.UsageByOwner}, byKey("k")
	tree := api.UsageArgs{Address: root, By: sessions.UsageByTree}
	refs := func() []sessions.Ref {
		return fetch[api.ChildrenResult](t, w, api.OpChildren, api.ChildrenArgs{Address: root}).Refs
	}

	prompt := api.PromptArgs{Address: root, Text: "work", RequestID: "r1"}
	first := attach(waiting(t), w, prompt)
	first.until(t, sessions.FrameChild)
	require.Eventually(t, func() bool {
		if usage(byOwner).Calls < 2 || len(refs()) < 2 {
			return false
		}
		for _, ref := range refs() {
			if ref.Status == sessions.RefRunning {
				text, _ := textOf(frames(t, w, api.Address{SessionID: ref.SessionID}))
				return text == "half"
			}
		}
		return false
	}, patience, 10*time.Millisecond, "one child has ended and the other is in the middle of its call")
	host.kill()

	host = start("text: two")
	reply, err := w.send(waiting(t), api.OpPrompt, prompt, nil)
	require.NoError(t, err)
	require.NoError(t, reply.Err())
	require.Equal(t, ledger(4), usage(tree))
	require.Equal(t, ledger(4), usage(byOwner))
	require.Equal(t, ledger(2), usage(api.UsageArgs{Address: root}))
	for _, ref := range refs() {
		require.Equal(t, ledger(1), usage(api.UsageArgs{Address: api.Address{SessionID: ref.SessionID}}))
	}

	fetch[api.SessionDeleteResult](t, w, api.OpSessionDelete, api.SessionDeleteArgs{Address: api.Address{SessionID: refs()[0].SessionID}})
	require.Equal(t, ledger(3), usage(tree))
	fetch[api.SessionDeleteResult](t, w, api.OpSessionDelete, api.SessionDeleteArgs{Address: root})
	host.kill()
	host = start("text: two")
	require.Equal(t, ledger(4), usage(byOwner), "the owner's sums stay")
	host.stop(t)
}
