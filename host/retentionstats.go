package host

import (
	"sync/atomic"

	"agenthost/host/api"
)

// retireCounts is what retention has done since the start.
type retireCounts struct {
	sweeps, trees, sessions, kept, failures atomic.Int64
}

func (c *retireCounts) stats() api.RetentionStats {
	return api.RetentionStats{
		Sweeps: c.sweeps.Load(), Trees: c.trees.Load(), Sessions: c.sessions.Load(),
		Kept: c.kept.Load(), Failures: c.failures.Load(),
	}
}

// RetentionStats returns what retention has done since the host's start, zeros
// when it is off.
func (h *Host) RetentionStats() api.RetentionStats {
	if h.retirer == nil {
		return api.RetentionStats{}
	}
	return h.retirer.counts.stats()
}
