package remotes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/host/remotes"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// A host whose agents ask agents of the same host, by the network or in turns
// with local ones, comes to an end at the limit for levels.
func TestHostsThatAskEachOtherComeToAnEnd(t *testing.T) {
	const depth = 3
	for _, word := range []string{"around", "near", "far"} {
		t.Run(word, func(t *testing.T) {
			ask := func(path, word string) []scripted.Step {
				return []scripted.Step{{Calls: []scripted.Call{{Path: path, Args: `{"prompt":"` + word + `"}`}}}, {Text: "done"}}
			}
			tree := &tools.Tree{}
			h := hosttest.New(t, hosttest.Options{
				Config: host.Config{Tools: tree, Limits: sessions.Limits{SubagentDepth: depth, BusyTurns: 50}},
				Profiles: map[string]host.Profile{sessions.DefaultProfile: {
					Tools: []string{"/agents"}, Oracle: scripted.Play(scripted.Script{Rules: []scripted.Rule{
						when("around", ask("/agents/self/default", "around")...),
						when("near", ask("/agents/default", "far")...),
						when("far", ask("/agents/self/default", "near")...),
					}}),
				}},
			})
			self := remotes.New("self", h.URL, remotes.Config{})
			t.Cleanup(self.Close)
			require.NoError(t, self.Mount(tree, sessions.DefaultProfile))
			_, err := h.Prompt(t.Context(), &api.PromptArgs{Address: atK, Text: word}, nil)
			require.NoError(t, err)
			list, err := h.SessionList(t.Context(), &api.SessionListArgs{})
			require.NoError(t, err)
			require.Len(t, list.Sessions, 1+depth)
			refused := 0
			for _, s := range list.Sessions {
				page, err := h.Messages(t.Context(), &api.MessagesArgs{Address: api.Address{SessionID: s.ID}})
				require.NoError(t, err)
				if e := page.Messages[2].Error; e != nil {
					require.Equal(t, "subagentDepth", e.Details["limit"])
					refused++
				}
			}
			require.Equal(t, 1, refused)
		})
	}
}
