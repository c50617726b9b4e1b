package tests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/host/hosttest"
	"agenthost/sessions"
)

// A host is killed after it has deleted and before its hook has heard of that:
// the next one tells it, of each session.
func TestKillBeforeTheHookHasHeard(t *testing.T) {
	for name, remove := range map[string]func(*testing.T, *client.Client){
		"delete": func(t *testing.T, c *client.Client) {
			t.Helper()
			done, err := c.SessionDelete(t.Context(), api.SessionDeleteArgs{Address: api.Address{SessionID: "root"}})
			require.NoError(t, err)
			require.True(t, done.Deleted)
		},
		"clear-all": func(t *testing.T, c *client.Client) {
			t.Helper()
			_, err := c.SessionClearAll(t.Context(), api.SessionClearAllArgs{})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.db")
			require.NoError(t, os.WriteFile(deaf(file), nil, 0o600))
			first := startChild(t, file)
			family := []string{"root", "child", "grandchild"}
			for i, id := range family {
				args := api.SessionCreateArgs{Address: api.Address{SessionID: sessions.SessionID(id)}}
				if i > 0 {
					args.ParentID, args.ParentLocation = sessions.SessionID(family[i-1]), sessions.Local
				}
				_, err := first.client.SessionCreate(t.Context(), args)
				require.NoError(t, err)
			}
			remove(t, first.client)
			first.await(saysHookBegan)
			first.kill()
			require.NoError(t, os.Remove(deaf(file)))

			startChild(t, file)
			require.Eventually(t, func() bool {
				list, err := os.ReadFile(heard(file))
				told := strings.Fields(string(list))
				return err == nil && !slices.ContainsFunc(family, func(id string) bool { return !slices.Contains(told, id) })
			}, hosttest.Patience, eventTick)
		})
	}
}
