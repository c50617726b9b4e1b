package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// A transaction that failed and is run again may end other sessions than the first
// time, or none: nobody may wait for the first.
func TestARemovalHasWhatItHidLast(t *testing.T) {
	var u underway
	r := newRemoval(sessions.LocalOwner)
	u.own(r, []sessions.Incarnation{1, 2})
	require.Contains(t, u.others(sessions.LocalOwner), r)
	u.own(r, []sessions.Incarnation{2, 3})
	require.Equal(t, map[sessions.Incarnation]*removal{2: r, 3: r}, u.lives)
	u.own(r, nil)
	require.Empty(t, u.others(""))
	u.own(r, []sessions.Incarnation{4})
	waited := u.others("")
	u.leave(r)
	for other := range waited {
		<-other.done
	}
	require.Empty(t, u.lives)
}
