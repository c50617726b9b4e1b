package sqlite

import "agenthost/sessions"

const msPerDay = 24 * 60 * 60 * 1000

const addSums = ` DO UPDATE SET input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens, cached_tokens = cached_tokens + excluded.cached_tokens,
    calls = calls + excluded.calls`

// addUsage adds what a step consumed to the session's and the owner's totals of
// the day. The owner's outlive the session.
func addUsage(t *tx, owner sessions.Owner, life sessions.Incarnation, model string, u sessions.Usage, now sessions.Time) error {
	if u == (sessions.Usage{}) {
		return nil
	}
	day := int64(now) / msPerDay
	if _, err := t.exec(`INSERT INTO usage (sid, day, model, input_tokens, output_tokens, cached_tokens, calls)
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (sid, day, model)`+addSums,
		life, day, model, u.InputTokens, u.OutputTokens, u.CachedTokens, u.Calls); err != nil {
		return err
	}
	_, err := t.exec(`INSERT INTO owner_usage (owner, day, model, input_tokens, output_tokens, cached_tokens, calls)
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, day, model)`+addSums,
		owner, day, model, u.InputTokens, u.OutputTokens, u.CachedTokens, u.Calls)
	return err
}
