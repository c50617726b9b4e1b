package actors

import (
	"context"

	"agenthost/sessions"
)

// AddUsage stores what a call consumed.
func (t runTurn) AddUsage(ctx context.Context, kind sessions.UsageKind, model string, u sessions.Usage) error {
	c := sessions.AddUsage{Life: t.Life(), Kind: kind, Model: model, Usage: u, Now: t.run.deps.nowMs()}
	if err := c.CheckForeign(); err != nil {
		return err
	}
	return t.run.deps.store.AddUsage(ctx, c)
}
