package mcp

import (
	"math/rand/v2"
	"time"
)

// pauses are the times between attempts: each at most twice as long as the one
// before, and at least half as long as it could be, by chance, so that servers
// that died together do not come back together.
type pauses struct {
	first, longest time.Duration
	now            time.Duration
}

func (p *pauses) next() time.Duration {
	p.now = min(max(p.first, 2*p.now), p.longest)
	return p.now/2 + rand.N(p.now/2+1)
}

func (p *pauses) reset() { p.now = 0 }
