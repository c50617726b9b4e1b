package sqlite

import "agenthost/sessions"

// member is a session that a delete would end, with what decides whether it may.
type member struct {
	life       sessions.Incarnation
	id         sessions.SessionID
	epoch      sessions.Epoch
	status     sessions.Status
	busy       bool
	damaged    bool
	turns      int64
	quietSince sessions.Time
}

const memberColumns = `s.sid, s.id, s.epoch, s.status, s.active_turn <> '' OR s.queued > 0, s.damaged, s.turn_count, ` + quietSince

// walkTree walks from an id, of which there may be no session: along the local
// refs of live sessions, and to those that were made as local children. What a
// remote ref names is nobody's local child. UNION lets the walk end in a cycle.
const walkTree = `WITH RECURSIVE tree (id) AS (
        SELECT ?2
        UNION
        SELECT c.id FROM tree CROSS JOIN sessions c INDEXED BY sessions_list_parent
            ON c.owner = ?1 AND c.parent_id = tree.id AND c.deleted_ms IS NULL
            WHERE c.parent_location = 'local' AND NOT ` + isRemote + `c.id)
        UNION
        SELECT r.child_id FROM tree CROSS JOIN sessions p INDEXED BY sessions_by_id
            ON p.owner = ?1 AND p.id = tree.id AND p.deleted_ms IS NULL
            CROSS JOIN sub_session_refs r ON r.sid = p.sid
            WHERE r.location = 'local' AND NOT ` + isRemote + `r.child_id)
    )
    `

const selectTree = walkTree + `SELECT ` + memberColumns + ` FROM tree CROSS JOIN sessions s INDEXED BY sessions_by_id
        ON s.owner = ?1 AND s.id = tree.id AND s.deleted_ms IS NULL`

// isRemote, with an id and a parenthesis behind it, asks for a remote ref that a
// live session of the owner ?1 has to it.
const isRemote = `EXISTS (SELECT 1 FROM sub_session_refs x INDEXED BY sub_session_refs_by_child CROSS JOIN sessions h ON h.sid = x.sid
                WHERE x.location = 'remote' AND h.owner = ?1 AND h.deleted_ms IS NULL AND x.child_id = `

const selectMember = "SELECT " + memberColumns + " FROM sessions s WHERE s.owner = ? AND s.id = ? AND s.deleted_ms IS NULL"

// membersOf returns the sessions that a delete would end, the root first.
func membersOf(t *tx, owner sessions.Owner, root sessions.SessionID, children sessions.ChildPolicy) (found []member, err error) {
	query := selectTree
	if children == sessions.Detach {
		query = selectMember
	}
	err = t.each(always, query, func(row scanner) error {
		var m member
		err := row.Scan(&m.life, &m.id, &m.epoch, &m.status, &m.busy, &m.damaged, &m.turns, &m.quietSince)
		found = append(found, m)
		return err
	}, owner, root)
	return found, err
}

// allows judges whether the delete of root may end all of the members.
func allows(c sessions.DeleteSession, root sessions.SessionID, all []member) error {
	for _, m := range all {
		if c.OnlySettled && m.id == root && m.busy {
			return sessions.ErrNotSettled
		}
		if c.RejectIfBusy && m.busy {
			return sessions.ErrTreeBusy
		}
		if c.Retire != nil && m.retained(*c.Retire) {
			return sessions.ErrRetained
		}
		if _, err := sessions.Next(m.status, sessions.SessionDeleted); err != nil {
			return sessions.Errorf(sessions.CodeInternal, "The session cannot be deleted as it is.").Because(err)
		}
	}
	return nil
}

func (m member) retained(r sessions.Retirement) bool {
	return m.busy || m.damaged || m.quietSince >= r.Before || r.Blank && m.turns > 0
}
