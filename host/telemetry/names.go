package telemetry

import "sync"

// others is the value of a label for names beyond the limit.
const others = "other"

// names lets only so many different names become values of a label: what is
// mounted may change, and a series stays as long as the process. It is safe for
// concurrent use.
type names struct {
	limit int

	mu    sync.RWMutex
	known map[string]struct{}
}

func newNames(limit int) *names { return &names{limit: limit, known: map[string]struct{}{}} }

// label returns the name, or others for one too many.
func (n *names) label(name string) string {
	n.mu.RLock()
	_, ok := n.known[name]
	n.mu.RUnlock()
	if ok {
		return name
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.known[name]; ok {
		return name
	}
	if len(n.known) >= n.limit {
		return others
	}
	n.known[name] = struct{}{}
	return name
}
