package sqlite

import (
	"cmp"
	"context"
	"slices"

	"agenthost/sessions"
)

// Owners returns who has sessions; see the port.
func (s *Store) Owners(ctx context.Context) (owners []sessions.Owner, err error) {
	err = s.readers.read(ctx, func(db querier) error {
		owners, err = ownersOf(ctx, db)
		return err
	})
	return owners, err
}

func ownersOf(ctx context.Context, db querier) (owners []sessions.Owner, err error) {
	err = db.each(ctx, `SELECT owner FROM owners WHERE EXISTS (SELECT 1 FROM sessions INDEXED BY sessions_list
        WHERE sessions.owner = owners.owner AND deleted_ms IS NULL) ORDER BY owner`, func(row scanner) error {
		var owner sessions.Owner
		err := row.Scan(&owner)
		owners = append(owners, owner)
		return err
	})
	return owners, err
}

// ofAll returns a page of everybody's sessions, and one more: those of each owner's
// page that come first. No index has them in one order, and there are few owners.
func (l *listing) ofAll(ctx context.Context, db querier) (found []sessions.Session, err error) {
	owners, err := ownersOf(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, owner := range owners {
		some, err := l.of(ctx, db, owner)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
		slices.SortFunc(found, func(a, b sessions.Session) int {
			return cmp.Or(cmp.Compare(b.LastActiveAt, a.LastActiveAt), cmp.Compare(b.ID, a.ID), cmp.Compare(b.Owner, a.Owner))
		})
		found = found[:min(len(found), l.limit+1)]
	}
	return found, nil
}

// Elsewhere reports whether another owner has a session there; see the port. It
// counts, so that it looks at every owner.
func (s *Store) Elsewhere(ctx context.Context, owner sessions.Owner, at sessions.Address) (bool, error) {
	where, args := "id = ?", []any{owner, at.ID}
	index := "sessions_by_id"
	if at.ID == "" {
		index, where, args = "sessions_by_key", "target_key = ? AND profile_key = ? AND target_key <> ''", []any{owner, at.Key.Target, at.Key.Profile}
	}
	var count int
	err := s.readers.read(ctx, func(db querier) error {
		return db.row(ctx, `SELECT count(*) FROM owners CROSS JOIN sessions INDEXED BY `+index+` ON sessions.owner = owners.owner
            WHERE owners.owner <> ? AND deleted_ms IS NULL AND `+where, args...).Scan(&count)
	})
	return count > 0, err
}
