package actors

import (
	"context"
	"strconv"

	"agenthost/sessions"
	"agenthost/tools/subagent"
)

// childDepth returns how many levels of agents a sub-agent of a session would have
// above it, those on other hosts included, or refuses it when they are too many.
func (d *deps) childDepth(ctx context.Context, owner sessions.Owner, parent sessions.SessionID) (int, error) {
	limit := d.limits.SubagentDepth
	id := parent
	for depth := 1; depth <= limit; depth++ {
		s, err := d.store.Session(ctx, owner, sessions.Address{ID: id})
		if sessions.CodeOf(err) == sessions.CodeSessionNotFound && id != parent {
			return depth, nil // deleted, and its children live on as roots
		}
		if err != nil {
			return 0, err
		}
		if s.ParentID == "" || s.ParentLocation != sessions.Local {
			if depth += levelsAbove(s); depth <= limit {
				return depth, nil
			}
			break
		}
		id = s.ParentID
	}
	return 0, sessions.Errorf(sessions.CodeToolInvokeFailed,
		"Sub-agents may be nested %d levels deep, and this would be one more; do the work without another.", limit).
		With("limit", "subagentDepth").With("max", limit)
}

// levelsAbove returns what the host that had a root made says of the levels above
// it, 0 when it is nobody's sub-agent.
func levelsAbove(root sessions.Session) int {
	levels, err := strconv.ParseUint(root.Labels[subagent.LabelDepth], 10, 16)
	if err != nil {
		return 0
	}
	return int(levels)
}
