package races

import (
	"encoding/json"
	"fmt"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// round is one race: a tree of a root, a child and its sibling, and the session
// of it that the op is about.
type round struct {
	*house
	n                    int
	root, child, sibling sessions.SessionID
	target               sessions.SessionID
	letGo                func() // lets the op's own turn end
}

// begin makes the tree. The op is about its root, or about the child, with and
// without an agent in memory.
func (h *house) begin(n int) *round {
	h.t.Helper()
	r := &round{house: h, n: n}
	r.root, r.child, r.sibling = r.id("root"), r.id("child"), r.id("sibling")
	if r.target = r.root; n%2 == 1 {
		r.target = r.child
	}
	must(h, (*host.Access).SessionCreate, &api.SessionCreateArgs{Address: byID(r.root)})
	for _, id := range []sessions.SessionID{r.child, r.sibling} {
		must(h, (*host.Access).SessionCreate, &api.SessionCreateArgs{Address: byID(id), ParentID: r.root, ParentLocation: sessions.Local})
	}
	value := json.RawMessage(`"racing"`)
	if n/2%2 == 0 {
		must(h, (*host.Access).SessionSeed, &api.SessionSeedArgs{
			Address: r.at(), State: map[string]json.RawMessage{"old": value},
			Messages: []api.SeedMessage{
				{Role: sessions.RoleUser, Content: sessions.Text(r.text("old"))},
				{Role: sessions.RoleAssistant, Content: sessions.Text(r.text("old"))},
			},
		})
	} else {
		must(h, (*host.Access).StateSet, &api.StateSetArgs{Address: r.at(), Name: "old", Value: api.Of(value)})
		must(h, prompt, &api.PromptArgs{Address: r.at(), Text: r.text("old")})
	}
	r.letGo = h.gates.closeFor(r.text("held"))
	return r
}

func (r *round) id(name string) sessions.SessionID {
	return sessions.SessionID(fmt.Sprintf("%s-%d-%s", mark, r.n, name))
}

func (r *round) text(kind string) string { return fmt.Sprintf("%s %s %d", mark, kind, r.n) }

func (r *round) at() api.Address { return byID(r.target) }

// work lets a session of the tree work until it is cancelled or deleted.
func (r *round) work(id sessions.SessionID) {
	r.gates.closeFor(r.text("busy"))
	must(r.house, prompt, &api.PromptArgs{Address: byID(id), Text: r.text("busy"), Wait: api.WaitAccepted})
}

func (r *round) requireMessages(n int) {
	r.t.Helper()
	got := must(r.house, (*host.Access).Messages, &api.MessagesArgs{Address: r.at()})
	require.Len(r.t, got.Messages, n)
}

func (r *round) get(id sessions.SessionID) sessions.Session {
	r.t.Helper()
	return must(r.house, (*host.Access).SessionGet, &api.SessionGetArgs{Address: byID(id)}).Session
}

// remove deletes what a race has left.
func (r *round) remove(id sessions.SessionID) {
	r.t.Helper()
	require.True(r.t, must(r.house, (*host.Access).SessionDelete, &api.SessionDeleteArgs{Address: byID(id)}).Deleted)
}

// requireGone checks that nothing of the tree can be found.
func (r *round) requireGone() {
	r.t.Helper()
	for _, id := range []sessions.SessionID{r.root, r.child, r.sibling, r.id("new")} {
		_, code := ask(r.house, (*host.Access).SessionGet, &api.SessionGetArgs{Address: byID(id)})
		require.Equal(r.t, sessions.CodeSessionNotFound, code, id)
	}
}
