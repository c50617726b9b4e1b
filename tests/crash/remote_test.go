package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// remoteScript is what the host does that others ask: it answers, or hangs.
const remoteScript = `rules:
  - {when: hang, steps: [{text: "let me", hang: true, repeat: true}]}
  - {when: wait, steps: [{delay: 500ms, text: "42", repeat: true}]}
  - {steps: [{text: "42", repeat: true}]}
`

// pair are two hosts, of which one asks the other.
type pair struct {
	near, far *process
	w, there  *wire
	folder    string // of far
	address   string // of far
}

func startPair(t *testing.T, grace time.Duration) *pair {
	t.Helper()
	p := &pair{folder: t.TempDir(), address: freeAddress(t)}
	write(t, p.folder, "script.yaml", remoteScript)
	write(t, p.folder, "agenthost.yaml", "oracles: {play: {provider: scripted, file: script.yaml}}\n")
	p.serveFar(t)
	near := t.TempDir()
	write(t, near, "agenthost.yaml", fmt.Sprintf(
		"profiles: {default: {tools: [/agents/east]}}\nremotes: {east: {url: %q, grace: %s}}\n", p.far.url, grace))
	p.near = serve(t, near, "--listen", "127.0.0.1:0")
	p.w = wireTo(t, p.near.url)
	return p
}

func (p *pair) serveFar(t *testing.T) {
	t.Helper()
	p.far = serve(t, p.folder, "--listen", p.address)
	p.there = wireTo(t, p.far.url)
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
}

// prompt lets the near host's agent ask the far one, and gives the reply on a channel.
func (p *pair) prompt(t *testing.T, key, args string) <-chan api.PromptResult {
	t.Helper()
	done := make(chan api.PromptResult, 1)
	go func() {
		defer close(done)
		r, err := ask[api.PromptResult](waiting(t), p.w, api.OpPrompt, api.PromptArgs{
			Address: byKey(key), Text: "/call agents/east/default " + args, RequestID: sessions.RequestID(key)})
		if err == nil {
			done <- r
		}
	}()
	return done
}

// child waits until a session's only ref has a status, and returns it.
func (p *pair) child(t *testing.T, key string, status sessions.RefStatus) sessions.Ref {
	t.Helper()
	var child sessions.Ref
	require.Eventually(t, func() bool {
		r, err := ask[api.ChildrenResult](waiting(t), p.w, api.OpChildren, api.ChildrenArgs{Address: byKey(key)})
		if err != nil || len(r.Refs) != 1 {
			return false
		}
		child = r.Refs[0]
		return child.Status == status
	}, patience, 5*time.Millisecond)
	return child
}

// result is the only tool result of a session.
func (p *pair) result(t *testing.T, key string) sessions.Message {
	t.Helper()
	for _, m := range history(t, p.w, byKey(key)) {
		if m.Role == sessions.RoleTool {
			return m
		}
	}
	require.Fail(t, "no tool has given a result")
	return sessions.Message{}
}

func TestARemoteSubAgentAnswers(t *testing.T) {
	p := startPair(t, 30*time.Second)
	<-p.prompt(t, "k", `{"prompt":"what is it?"}`)
	require.JSONEq(t, `"42"`, string(p.result(t, "k").Content[0].Value))
	child := p.child(t, "k", sessions.RefIdle)
	require.Equal(t, sessions.Remote, child.Location)
	require.Equal(t, "east", child.Host)
	s := fetch[api.SessionGetResult](t, p.there, api.OpSessionGet, api.SessionGetArgs{Address: api.Address{SessionID: child.SessionID}})
	require.Empty(t, s.Session.ParentID)
	require.EqualValues(t, 1, s.Session.TurnCount)

	fetch[api.SessionDeleteResult](t, p.w, api.OpSessionDelete, api.SessionDeleteArgs{Address: byKey("k")})
	fetch[api.SessionGetResult](t, p.there, api.OpSessionGet, api.SessionGetArgs{Address: api.Address{SessionID: child.SessionID}})
}

func TestARemoteSubAgentThatIsKilledIsLost(t *testing.T) {
	p := startPair(t, time.Second)
	done := p.prompt(t, "k", `{"prompt":"hang"}`)
	p.child(t, "k", sessions.RefRunning)
	p.far.kill()
	<-done
	require.Equal(t, sessions.CodeSubagentLost, p.result(t, "k").Error.Code)
	p.child(t, "k", sessions.RefLost)
	fetch[api.PromptResult](t, p.w, api.OpPrompt, api.PromptArgs{Address: byKey("k"), Text: "hello"})
}

// A host that comes back within the grace period goes on, and nothing runs twice.
func TestARemoteSubAgentOutlivesARestartOfItsHost(t *testing.T) {
	p := startPair(t, patience)
	done := p.prompt(t, "k", `{"prompt":"wait"}`)
	child := p.child(t, "k", sessions.RefRunning)
	p.far.kill()
	p.serveFar(t)
	<-done
	require.JSONEq(t, `"42"`, string(p.result(t, "k").Content[0].Value))
	at := api.Address{SessionID: child.SessionID}
	turns := fetch[api.TurnsResult](t, p.there, api.OpTurns, api.TurnsArgs{Address: at})
	require.Len(t, turns.Turns, 1)
}

// A parent that is killed finds its child again, and joins the turn it asked for.
func TestAKilledParentFindsItsRemoteSubAgent(t *testing.T) {
	p := startPair(t, 30*time.Second)
	done := p.prompt(t, "k", `{"prompt":"wait"}`)
	child := p.child(t, "k", sessions.RefRunning)
	p.near.kill()
	<-done
	p.near = serve(t, p.near.cmd.Dir, "--listen", "127.0.0.1:0")
	p.w = wireTo(t, p.near.url)
	<-p.prompt(t, "k", `{"prompt":"wait"}`)
	require.JSONEq(t, `"42"`, string(p.result(t, "k").Content[0].Value))
	require.Equal(t, child.SessionID, p.child(t, "k", sessions.RefIdle).SessionID)
	list := fetch[api.SessionListResult](t, p.there, api.OpSessionList, api.SessionListArgs{})
	require.Len(t, list.Sessions, 1)
	require.EqualValues(t, 1, list.Sessions[0].TurnCount)
}

func TestDeletingAParentCancelsItsRemoteSubAgent(t *testing.T) {
	for name, args := range map[string]string{
		"asked":   `{"prompt":"hang"}`,
		"spawned": `{"action":"spawn","name":"helper","prompt":"hang"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := startPair(t, 30*time.Second)
			done := p.prompt(t, "k", args)
			child := p.child(t, "k", sessions.RefRunning)
			if name == "spawned" {
				<-done
			}
			fetch[api.SessionDeleteResult](t, p.w, api.OpSessionDelete, api.SessionDeleteArgs{Address: byKey("k")})
			<-done
			at := api.Address{SessionID: child.SessionID}
			require.Eventually(t, func() bool {
				r, err := ask[api.TurnsResult](waiting(t), p.there, api.OpTurns, api.TurnsArgs{Address: at})
				return err == nil && r.Turns[0].Status == sessions.TurnIsCancelled
			}, patience, 5*time.Millisecond)
		})
	}
}
