package actors_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/sessions"
)

// bringing gives the prompt client tools of its own.
func bringing(list ...sessions.ClientTool) actortest.Option {
	return func(p *actors.Prompt) { p.Inference.ClientTools = list }
}

// Models are shown what clients run beside what is mounted, in one order, and the
// same after an eviction.
func TestModelsSeeClientTools(t *testing.T) {
	o := script(calls("/ui/ask"), text("done"))
	w := world(t, o, mounts{"/t/one": output(`1`), "/t/zzz": output(`1`), "/other": output(`1`)}, guarded, shortTTL)
	at := actortest.Key("a")
	own := sessions.ClientTool{Path: "/t/own", Description: "mine"}
	other := sessions.ClientTool{Path: "ui/pick", Description: "another one", Schema: json.RawMessage(`{ "type": "object", "title": "<b>" }`)}
	_, pending := waitingWork(w, at, bringing(own, other), nobodyWaits)
	awaitEvicted(w, at)
	mustAnswer(w, at, pending[0].CallID, gives(`1`))
	w.Eventually(func() bool { return len(o.Requests()) == 2 }, "that the turn goes on")
	before, after := o.Requests()[0].Tools, o.Requests()[1].Tools
	require.Equal(t, before, after)
	require.Equal(t, []string{"/t/one", "/t/own", "/t/zzz", "/ui/ask", "/ui/pick"}, pathsOf(before))
	require.Equal(t, sessions.FunctionName("/ui/ask"), before[3].Name)
	require.JSONEq(t, `{"type":"object"}`, string(before[3].Schema))
	require.Equal(t, "another one", before[4].Description)
	require.Equal(t, `{"type":"object","title":"<b>"}`, string(before[4].Schema))
	require.Equal(t, "fine", w.Say(at, "hello", with(sessions.BusyQueue)))
	require.Equal(t, []string{"/t/one", "/t/zzz", "/ui/ask", "/ui/pick"}, pathsOf(o.Requests()[2].Tools), "the other turn has the profile's")
}

func pathsOf(list []oracle.Tool) []string {
	paths := make([]string, len(list))
	for i, tool := range list {
		paths[i] = tool.Path
	}
	return paths
}

func TestClientToolsThatCannotBe(t *testing.T) {
	w := world(t, script(), mounts{"/t/one": output(`1`)}, guarded)
	for name, list := range map[string][]sessions.ClientTool{
		"no path":        {{Path: "/a//b"}},
		"no schema":      {{Path: "/a", Schema: json.RawMessage(`{"type":"string"}`)}},
		"twice":          {{Path: "/a"}, {Path: "a"}},
		"a mounted tool": {{Path: "/t/one"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.Send(actortest.Key("a"), "hello", bringing(list...)).Failed(sessions.CodeInvalidRequest)
			require.Zero(t, r.Turn)
		})
	}
	for name, change := range map[string]func(*actors.Profile){
		"/profiles/default/clientTools/0": func(p *actors.Profile) {
			p.ClientTools = []sessions.ClientTool{{Path: "/a", Schema: json.RawMessage(`[]`)}}
		},
		"/profiles/default/needsApproval": func(p *actors.Profile) { p.NeedsApproval = []string{"/a//b"} },
		"/profiles/default":               func(p *actors.Profile) { p.WaitTimeout = -1 },
	} {
		_, err := actors.New(w.Store, profiles(script(), change), actors.Config{})
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		require.Equal(t, name, sessions.AsError(err).Details["field"])
	}
	_, err := actors.New(w.Store, profiles(script(), guarded), actors.Config{Tools: treeOf(t, mounts{"/ui/ask": output(`1`)})})
	require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
}

// What is mounted at a client tool's place later does not take its calls.
func TestAMountDoesNotReplaceAClientTool(t *testing.T) {
	o := script(calls("/ui/ask"), text("done"))
	w := world(t, o, nil, guarded)
	require.NoError(t, w.System.Mount("/ui/ask", output(`"mounted"`)))
	at := actortest.Key("a")
	call, pending := waitingWork(w, at)
	mustAnswer(w, at, pending[0].CallID, gives(`"client"`))
	require.Equal(t, "done", call.Completed())
	requireOutputs(t, lastResults(w.History(at)), `"client"`)
	require.Equal(t, []string{"/ui/ask", "/ui/pick"}, pathsOf(o.Requests()[0].Tools))
}
