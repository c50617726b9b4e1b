package storetest

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// known collects the names of what the suite has run or skipped, so that a skip
// of something that there is not can be told from one that worked.
type known struct {
	mu    sync.Mutex
	names map[string]bool
}

func (k *known) add(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names[name] = true
}

// lack returns which of the names are not known, in order, and nothing while a
// topic has not run: a filter of go test may have left it out.
func (k *known) lack(topics []string, names map[string]string) (lacking []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, topic := range topics {
		if !k.names[topic] {
			return nil
		}
	}
	for name := range names {
		if !k.names[name] {
			lacking = append(lacking, name)
		}
	}
	slices.Sort(lacking)
	return lacking
}

// enter begins a topic, or skips it.
func (f Factory) enter(t *testing.T) {
	t.Helper()
	f.known.add(f.topic)
	f.skip(t, f.topic)
}

// run runs a case of a topic, or skips it.
func (f Factory) run(t *testing.T, name string, run func(*testing.T)) {
	t.Helper()
	full := f.topic + "/" + name
	f.known.add(full)
	t.Run(name, func(t *testing.T) {
		f.skip(t, full)
		run(t)
	})
}

func (f Factory) skip(t *testing.T, name string) {
	t.Helper()
	if reason, ok := f.Skip[name]; ok {
		t.Skip(reason)
	}
}

// optional ends a test of an ability that the store does not have. It may say so
// with NOT_SUPPORTED only; any other error fails the test.
func optional(t *testing.T, err error) {
	t.Helper()
	if sessions.CodeOf(err) == sessions.CodeNotSupported {
		t.Skip(err.Error())
	}
	require.NoError(t, err)
}
