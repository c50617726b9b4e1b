package sqlite

import (
	"context"
	"math"

	"agenthost/sessions"
)

// quietSince is when a session was last active, as retention counts it. It is not
// before last_active_ms but when the clock was set back.
const quietSince = "CASE WHEN closed_ms > 0 THEN closed_ms ELSE last_active_ms END"

// retirable finds roots by the index of a list: those of each owner that were
// last active before a bound. With ?beyond the bound is also the activity of
// the last root that is kept, so that a root as recent as that is kept too; an
// owner with fewer has none, which no root is before.
const retirable = `
    WITH bounds (owner, before) AS MATERIALIZED (
        SELECT owner, CASE ?2 WHEN 0 THEN ?1 ELSE min(?1, (
            SELECT ` + quietSince + ` FROM sessions INDEXED BY sessions_list_parent
            WHERE sessions.owner = owners.owner AND parent_id = '' AND deleted_ms IS NULL AND (?3 = '' OR profile_key = ?3)
            ORDER BY ` + quietSince + ` DESC LIMIT 1 OFFSET ?2 - 1)) END
        FROM owners)
    SELECT sid, bounds.owner, id, epoch, before, ` + quietSince + ` AS quiet
    FROM bounds CROSS JOIN sessions INDEXED BY sessions_list_parent
    WHERE sessions.owner = bounds.owner AND parent_id = '' AND deleted_ms IS NULL AND last_active_ms < before
        AND ` + quietSince + ` < before AND (?3 = '' OR profile_key = ?3) AND (?4 = 0 OR turn_count = 0)
        AND damaged = 0 AND active_turn = '' AND queued = 0
        AND (` + quietSince + `, sid) > (?5, ?6)
    ORDER BY quiet, sid LIMIT ?7`

// Retirable returns a page of roots that retention may end; see the port.
func (s *Store) Retirable(ctx context.Context, q sessions.RetireQuery) (sessions.RetirePage, error) {
	var from mark
	if q.Cursor != "" {
		var err error
		if from, err = markAt(q.Cursor, 'r'); err != nil {
			return sessions.RetirePage{}, err
		}
	}
	before := q.Before
	if before == 0 {
		before = math.MaxInt64
	}
	limit := pageLimit(q.Limit)
	var roots []sessions.Retiree
	var quiet []int64
	err := s.readers.read(ctx, func(db querier) error {
		return db.each(ctx, retirable, func(row scanner) error {
			var r sessions.Retiree
			var since int64
			err := row.Scan(&r.Fence.Incarnation, &r.Owner, &r.ID, &r.Fence.Epoch, &r.Before, &since)
			roots, quiet = append(roots, r), append(quiet, since)
			return err
		}, before, q.Beyond, q.Profile, q.Blank, from.a, from.b, limit+1)
	})
	if err != nil {
		return sessions.RetirePage{}, err
	}
	var page sessions.RetirePage
	var more bool
	if page.Roots, more = cut(roots, limit); more {
		page.NextCursor = mark{'r', quiet[limit-1], int64(roots[limit-1].Fence.Incarnation)}.cursor()
	}
	return page, nil
}
