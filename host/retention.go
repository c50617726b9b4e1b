package host

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"agenthost/actors"
	"agenthost/sessions"
)

// Retention says which sessions a host removes by itself, as whole trees. The
// zero value removes none.
type Retention struct {
	Every          time.Duration // between two sweeps; default 5 minutes
	RetentionRules               // for all sessions
	// Profiles has rules for sessions of a profile, beside those for all.
	Profiles map[string]RetentionRules
}

// RetentionRules name roots whose trees go if none of their sessions was active
// later. A closed session counts as last active when it was closed.
type RetentionRules struct {
	MaxAge      time.Duration // since a root's newest activity; 0 means any
	MaxSessions int64         // roots of an owner, those active last; 0 means any number
	BlankAfter  time.Duration // since the newest activity of a root without a turn; 0 means never
}

const (
	defaultRetainEvery = 5 * time.Minute
	// retirePage is how many roots are asked for at once. The store looks at all that
	// a rule names for each page, so few pages matter more than small ones.
	retirePage = 2_000
	// retireGrace is how long a sweep waits for one tree before it goes on to the
	// next. The removal goes on by itself.
	retireGrace = time.Minute
)

func (c Retention) check() error {
	negative := c.Every < 0 || c.negative()
	for _, rules := range c.Profiles {
		negative = negative || rules.negative()
	}
	if negative {
		return sessions.InvalidField("/retention", "A time or a number of the retention is negative; use 0 to turn it off.")
	}
	return nil
}

func (r RetentionRules) negative() bool { return r.MaxAge < 0 || r.MaxSessions < 0 || r.BlankAfter < 0 }

// retireRule is one rule as the store knows it.
type retireRule struct {
	name  string // of the setting, for the log
	age   time.Duration
	query sessions.RetireQuery
}

// rules lists what is turned on, in an order that is always the same.
func (c Retention) rules() []retireRule {
	list := c.of("")
	for _, profile := range slices.Sorted(maps.Keys(c.Profiles)) {
		list = append(list, c.Profiles[profile].of(profile)...)
	}
	return list
}

func (r RetentionRules) of(profile string) []retireRule {
	var list []retireRule
	if r.BlankAfter > 0 {
		list = append(list, retireRule{"blankAfter", r.BlankAfter, sessions.RetireQuery{Profile: profile, Blank: true}})
	}
	if r.MaxAge > 0 {
		list = append(list, retireRule{"maxAge", r.MaxAge, sessions.RetireQuery{Profile: profile}})
	}
	if r.MaxSessions > 0 {
		list = append(list, retireRule{"maxSessions", 0, sessions.RetireQuery{Profile: profile, Beyond: r.MaxSessions}})
	}
	return list
}

// retirer removes sessions by the rules, in one goroutine.
type retirer struct {
	every  time.Duration
	rules  []retireRule
	store  sessions.Store
	system *actors.System
	log    *slog.Logger
	now    func() sessions.Time
	use    inUse
	counts retireCounts
}

// newRetirer returns what the configuration asks for, nil for nothing.
func newRetirer(h *Host) *retirer {
	rules := h.config.Retention.rules()
	if len(rules) == 0 {
		return nil
	}
	return &retirer{
		every: cmp.Or(h.config.Retention.Every, defaultRetainEvery), rules: rules,
		store: h.store, system: h.system, log: h.config.Logger,
		now: func() sessions.Time { return sessions.TimeOf(h.config.Now()) },
		use: inUse{h.store, h.system.Feed(), &h.watchers},
	}
}

// run sweeps every so often until ctx ends. It waits first: who was subscribed
// before a restart comes back and says that a session is in use.
func (r *retirer) run(ctx context.Context) {
	for pause(ctx, r.every) {
		r.sweep(ctx)
	}
}

func (r *retirer) sweep(ctx context.Context) {
	began, before := time.Now(), r.counts.stats()
	var err error
	for _, rule := range r.rules {
		if err = r.apply(ctx, rule); err != nil {
			break
		}
	}
	if err != nil && (ctx.Err() != nil || sessions.CodeOf(err) == sessions.CodeHostStopping) {
		return
	}
	r.counts.sweeps.Add(1)
	if err != nil {
		r.counts.failures.Add(1)
		r.log.Warn("a sweep of the retention failed; the next one goes on", "error", err)
	}
	done, level := r.counts.stats(), slog.LevelDebug
	if done.Trees > before.Trees {
		level = slog.LevelInfo
	}
	r.log.Log(ctx, level, "retention has swept", "trees", done.Trees-before.Trees, "sessions", done.Sessions-before.Sessions,
		"kept", done.Kept-before.Kept, "took", time.Since(began))
}

// apply removes what one rule names, oldest first.
func (r *retirer) apply(ctx context.Context, rule retireRule) error {
	q := rule.query
	q.Limit = retirePage
	if rule.age > 0 {
		q.Before = r.now() - sessions.Time(rule.age.Milliseconds())
	}
	for {
		page, err := r.store.Retirable(ctx, q)
		if err != nil {
			return err
		}
		for _, root := range page.Roots {
			if err := r.retire(ctx, rule, root); err != nil {
				return err
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		q.Cursor = page.NextCursor
	}
}

// retire removes one tree, unless it is in use or the store finds a reason
// against it, and rests as long as that took: the time of the store belongs to
// those who wait for it.
func (r *retirer) retire(ctx context.Context, rule retireRule, root sessions.Retiree) error {
	began := time.Now()
	used, err := r.use.watched(ctx, root.DeletedSession)
	if err != nil {
		return err
	}
	if used {
		r.counts.kept.Add(1)
		return nil
	}
	done, err := r.system.Delete(ctx, actors.Delete{
		Owner: root.Owner, At: sessions.Address{ID: root.ID}, Grace: retireGrace,
		Retire: &sessions.Retirement{Before: root.Before, Blank: rule.query.Blank},
	})
	switch {
	case sessions.CodeOf(err) == sessions.CodeConflict:
		r.counts.kept.Add(1)
		return nil
	case err != nil:
		return err
	case done.Receipt == nil: // somebody else has deleted it
		return nil
	}
	r.counts.trees.Add(1)
	r.counts.sessions.Add(done.Receipt.Sessions)
	r.log.Info("retention has removed a session with its tree", "session", root.ID, "owner", root.Owner,
		"sessions", done.Receipt.Sessions, "rule", rule.name, "profile", rule.query.Profile)
	pause(ctx, time.Since(began))
	return nil
}
