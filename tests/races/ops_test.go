package races

import (
	"context"
	"encoding/json"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// op is what races with a delete.
type op struct {
	name string
	// do asks for it, and returns the answer's code once it has ended.
	do func(r *round) sessions.Code
	// routed ops go through the actors, where they wait for a delete of the same
	// session; the others meet it in the store.
	routed bool
	// busy makes the tree busy before a delete that refuses a busy one; nil when
	// the op itself does.
	busy func(r *round)
	// refused is whether such a delete is refused when it comes second, and when
	// it comes first.
	refused, refusedFirst bool
	// first and second are the answers to an op that came before, and after, a
	// delete that has ended the tree.
	first, second []sessions.Code
	// kept checks what the op has done to a tree whose delete was refused; outlives
	// what it leaves of its own beside a tree that has ended, nil for nothing.
	kept, outlives func(r *round)
}

var (
	done = []sessions.Code{""}
	gone = []sessions.Code{sessions.CodeSessionNotFound, sessions.CodeSessionDeleted}
)

// sibling lets another session of the tree work.
func sibling(r *round) { r.work(r.sibling) }

var ops = []op{
	{
		name: "prompt", do: doPrompt, routed: true, refused: true,
		first: []sessions.Code{sessions.CodeSessionDeleted}, second: gone,
		kept: func(r *round) { r.requireMessages(4) },
	},
	{
		name: "state", do: setState, busy: sibling, refused: true, refusedFirst: true, first: done, second: gone,
		kept: func(r *round) {
			require.Len(r.t, must(r.house, (*host.Access).State, &api.StateArgs{Address: r.at()}).State, 2)
		},
	},
	{
		name: "child", do: createChild, busy: sibling, refused: true, refusedFirst: true, first: done, second: gone,
		kept: func(r *round) { require.Equal(r.t, r.target, r.get(r.id("new")).ParentID) },
	},
	{
		name: "seed", do: seed, busy: sibling, refused: true, refusedFirst: true,
		first: done, second: done, // a transcript may begin a session
		kept: func(r *round) { r.requireMessages(3) }, outlives: requireAnew,
	},
	{
		name: "fork", do: fork, busy: sibling, refused: true, refusedFirst: true, first: done, second: gone,
		kept: requireFork, outlives: requireFork,
	},
	{
		// Its first half ends the turn, so a delete behind it finds nothing busy.
		name: "close", do: doClose, routed: true, busy: func(r *round) { r.work(r.target) }, refusedFirst: true,
		first: append(done, gone...), second: gone,
		kept: func(r *round) { require.Equal(r.t, sessions.StatusClosed, r.get(r.target).Status) },
	},
}

func doPrompt(r *round) sessions.Code {
	_, code := ask(r.house, prompt, &api.PromptArgs{Address: r.at(), Text: r.text("held")})
	return code
}

func setState(r *round) sessions.Code {
	_, code := ask(r.house, (*host.Access).StateSet, &api.StateSetArgs{
		Address: r.at(), Name: "new", Value: api.Of(json.RawMessage(`"racing"`)),
	})
	return code
}

func createChild(r *round) sessions.Code {
	_, code := ask(r.house, (*host.Access).SessionCreate, &api.SessionCreateArgs{
		Address: byID(r.id("new")), ParentID: r.target, ParentLocation: sessions.Local,
	})
	return code
}

func seed(r *round) sessions.Code {
	_, code := ask(r.house, (*host.Access).SessionSeed, &api.SessionSeedArgs{
		Address:  r.at(),
		Messages: []api.SeedMessage{{Role: sessions.RoleUser, Content: sessions.Text(r.text("new"))}},
	})
	return code
}

func fork(r *round) sessions.Code {
	_, code := ask(r.house, (*host.Access).SessionFork, &api.SessionForkArgs{Address: r.at(), NewSessionID: r.id("fork")})
	return code
}

func doClose(r *round) sessions.Code {
	_, code := ask(r.house, (*host.Access).SessionClose, &api.SessionCloseArgs{Address: r.at()})
	return code
}

// requireFork checks that a fork is whole, whatever became of its origin.
func requireFork(r *round) {
	got := must(r.house, (*host.Access).Messages, &api.MessagesArgs{Address: byID(r.id("fork"))})
	require.Len(r.t, got.Messages, 2)
	r.remove(r.id("fork"))
}

// requireAnew checks that a session that a transcript has begun has nothing of
// the one before.
func requireAnew(r *round) {
	if got, code := ask(r.house, (*host.Access).SessionGet, &api.SessionGetArgs{Address: r.at()}); code == "" {
		require.Empty(r.t, got.Session.ParentID)
		r.requireMessages(1)
		require.Empty(r.t, must(r.house, (*host.Access).State, &api.StateArgs{Address: r.at()}).State)
		r.remove(r.target)
	}
}

// prompt is Access.Prompt for a caller that wants no frames.
func prompt(a *host.Access, ctx context.Context, args *api.PromptArgs) (*api.PromptResult, error) { //nolint:revive // a method expression's order
	return a.Prompt(ctx, args, nil)
}
