package agentsv1

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
)

var (
	kills     = flag.Int("kills", 3, "how often to kill the command under clients of the Agents API")
	killsSeed = flag.Uint64("killsseed", 0, "what the clients of the killed command derive from; 0 takes a new one")
)

// killScript is the model: what a message contains says how it is answered.
const killScript = `rules:
  - when: slowly
    steps: [{deltas: [{after: 30ms, text: "One "}, {after: 30ms, text: "two "}, {after: 30ms, text: "three "}, {after: 30ms, text: "four "}, {after: 30ms, text: "five "}, {after: 30ms, text: "six."}], usage: {input: 5, output: 6}}]
  - when: look
    steps:
      - {deltas: [{after: 2ms, text: "Let me "}, {after: 2ms, text: "look."}], calls: [{path: /functions/look, args: {at: quince}}], usage: {input: 4, output: 2}}
      - {deltas: [{after: 3ms, text: "It was "}, {text: "seen."}], usage: {input: 6, output: 2}}
  - when: both
    steps:
      - {calls: [{path: /functions/look, args: {at: left}}, {path: /builtin/echo, args: {text: echo}}, {path: /functions/look, args: {at: right}}], usage: {input: 4, output: 2}}
      - {text: "Both were seen.", usage: {input: 6, output: 2}}
  - when: tools
    steps:
      - {text: "Wait.", calls: [{path: /builtin/time}, {path: /builtin/echo, args: {text: echo}}], usage: {input: 4, output: 2}}
      - {deltas: [{after: 3ms, text: "It is "}, {after: 3ms, text: "late."}], usage: {input: 6, output: 2}}
  - when: fail
    steps: [{deltas: [{after: 3ms, text: "I can"}], fail: "overloaded"}]
steps:
  - {deltas: [{after: 2ms, text: "It "}, {after: 3ms, text: "is "}, {after: 2ms, text: "so."}], usage: {input: 9, output: 3}, repeat: true}
`

// killsMark is in every text that the clients write, and nowhere else.
const killsMark = "quokka"

// killing is the clients of a command that is killed.
type killing struct {
	t      *testing.T
	daemon *daemon
	owners []*killedOwner
	calm   atomic.Bool // the command is not being ended

	mu     sync.Mutex
	faults []string
	counts map[string]int
}

// Clients of two owners do all that there is to do, while the command is killed and
// started again: what they were told is so afterwards, and nothing happens twice.
func TestKillsUnderTheAgentsAPI(t *testing.T) {
	seed := *killsSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	k := &killing{t: t, daemon: newDaemon(t, killScript, t.TempDir()), counts: map[string]int{}}
	for _, name := range []string{"ann", "ben"} {
		k.owners = append(k.owners, newKilledOwner(k, name))
	}
	k.daemon.start()
	k.calm.Store(true)
	files := k.daemon.files()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := make(chan struct{})
	var working sync.WaitGroup
	for n := range 6 {
		c := &killedClient{killedOwner: k.owners[n%2], number: n, rand: rand.New(rand.NewPCG(seed, uint64(n)+1))}
		working.Go(func() { c.work(ctx, stop) })
	}
	moments := rand.New(rand.NewPCG(seed, 0))
	for n := range *kills {
		time.Sleep(time.Duration(300+moments.IntN(1100)) * time.Millisecond) // the moment is what varies
		if graceful := n%4 == 1; graceful {
			k.calm.Store(false)
			k.daemon.stop()
		} else {
			k.daemon.kill()
		}
		k.daemon.start()
		k.calm.Store(true)
	}
	time.Sleep(300 * time.Millisecond)
	close(stop)
	requireEnds(t, &working)
	for _, o := range k.owners {
		o.settle()
		o.requireStreams(ctx)
		o.requireAll()
	}
	cancel()
	for _, o := range k.owners {
		o.following.Wait()
		o.idle()
	}
	require.Less(t, k.daemon.memory(), 400<<20)
	require.Eventually(t, func() bool { return k.daemon.files() <= files+4 }, patience, 20*time.Millisecond, "files stay open")
	for _, o := range k.owners {
		o.removeAll()
	}
	k.report()
	k.daemon.stop()
	k.requireNothingLeft()
}

func requireEnds(t *testing.T, working *sync.WaitGroup) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		working.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(2 * patience):
		require.Fail(t, "clients stay without an answer")
	}
}

// requireNothingLeft purges the files, by the command, and looks for the texts itself.
func (k *killing) requireNothingLeft() {
	t := k.t
	t.Helper()
	out, err := k.daemon.run("purge", "--find", killsMark)
	require.NoError(t, err, out)
	require.NoError(t, filepath.WalkDir(k.daemon.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.False(t, bytes.Contains(data, []byte(killsMark)), path)
		return err
	}))
}

func (k *killing) report() {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.t.Logf("%v", k.counts)
	for _, fault := range k.faults {
		k.t.Error(fault)
	}
}

// settled reports whether a session wants nothing more.
func settled(s *openai.AgentSession) bool { return s.Status == "idle" || s.Status == "failed" }
