package actors

import (
	"context"

	"agenthost/sessions"
)

// Budget bounds what model calls may consume, in tokens of input and output
// together. 0 means no bound. It is looked at before each model call, by what is
// stored: the call that goes over it is the last one of its turn, whose calls are
// run and answered, and the turn fails with PAYLOAD_TOO_LARGE.
type Budget struct {
	TurnTokens    int64 // of one turn
	SessionTokens int64 // of all turns of one session
}

// allowance is one budget of a turn, with what was consumed of it.
type allowance struct {
	limit string // the name of its setting
	max   int64
	used  func(ctx context.Context) (int64, error)
}

// allowances are the budgets that the turn has.
func (r *run) allowances() (list []allowance) {
	add := func(limit string, max int64, used func(ctx context.Context) (int64, error)) {
		if max > 0 {
			list = append(list, allowance{limit, max, used})
		}
	}
	life := runTurn{run: r}.Life()
	add("turnTokens", r.profile.Budget.TurnTokens, func(ctx context.Context) (int64, error) {
		turn, err := r.deps.store.Turn(ctx, life, r.turn.TurnID)
		return turn.Usage.Tokens(), err
	})
	add("sessionTokens", r.profile.Budget.SessionTokens, func(ctx context.Context) (int64, error) {
		sums, err := r.deps.store.Usage(ctx, sessions.UsageQuery{By: sessions.UsageBySession, Life: life})
		return sessions.ReportUsage(sums).Tokens(), err
	})
	if day := r.deps.day(r.ident.owner); day.max > 0 {
		list = append(list, day)
	}
	return list
}

// overBudget returns why the turn may make no further model call, nil if it may.
func (r *run) overBudget(life context.Context) *sessions.Error {
	for _, b := range r.allowances() {
		var used int64
		err := r.read(life, func() (err error) {
			used, err = b.used(life)
			return err
		})
		if err != nil {
			return sessions.AsError(err)
		}
		if used >= b.max {
			return errOverBudget(b, used)
		}
	}
	return nil
}

// day is the budget of an owner's day, in which side questions count too.
func (d *deps) day(owner sessions.Owner) allowance {
	return allowance{"ownerDayTokens", d.ownerDayTokens, func(ctx context.Context) (int64, error) {
		sums, err := d.store.Usage(ctx, sessions.UsageQuery{By: sessions.UsageByOwner, Owner: owner, Since: d.nowMs()})
		report := sessions.ReportUsage(sums)
		return report.Tokens() + report.SideQuestions.Tokens(), err
	}}
}

// overDay returns why the owner's sessions may make no further model call today,
// nil if they may.
func (d *deps) overDay(ctx context.Context, owner sessions.Owner) error {
	b := d.day(owner)
	if b.max <= 0 {
		return nil
	}
	used, err := b.used(ctx)
	if err == nil && used >= b.max {
		err = errOverBudget(b, used)
	}
	return err
}
