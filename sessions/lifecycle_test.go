package sessions_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

// expectedMoves is written from the contract's prose, a line a state and a
// column a trigger, to compare the table with. "-" is a pair that must not be.
const expectedMoves = `
          started waited  resumed completed cancelled failed  interrupted detach  close   delete
created   running -       -       -         -         -       -           -       closed  deleted
running   -       waiting -       idle      idle      failed  failed      idle    closed  deleted
waiting   -       -       running -         idle      failed  failed      idle    closed  deleted
idle      running -       -       -         -         -       -           -       closed  deleted
failed    running -       -       -         -         -       -           -       closed  deleted
closed    -       -       -       -         -         -       -           -       -       deleted
deleted   -       -       -       -         -         -       -           -       -       -
`

func TestLifecycleEveryStateAndTrigger(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(expectedMoves), "\n")
	columns := strings.Fields(lines[0])
	triggers := sessions.Triggers()
	require.Len(t, columns, len(triggers))
	var states []sessions.Status
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		from := sessions.Status(cells[0])
		states = append(states, from)
		for i, on := range triggers {
			require.True(t, strings.HasSuffix(string(on), columns[i]), "column %s is not trigger %q", columns[i], on)
			to, err := sessions.Next(from, on)
			if cells[i+1] != "-" {
				require.NoError(t, err)
				require.Equal(t, sessions.Status(cells[i+1]), to, "%s on %q", from, on)
				continue
			}
			require.ErrorIs(t, err, sessions.ErrInvalidTransition, "%s on %q", from, on)
			require.ErrorContains(t, err, string(from))
			require.ErrorContains(t, err, string(on))
			require.Equal(t, from, to, "a refused trigger moves nothing")
		}
	}
	require.Equal(t, append(sessions.Statuses(), sessions.Deleted), states)
}

func TestLifecycleOfUnknownNames(t *testing.T) {
	for _, c := range []struct {
		from sessions.Status
		on   sessions.Trigger
	}{{"", sessions.TurnStarted}, {"sleeping", sessions.TurnStarted}, {sessions.StatusIdle, ""}, {sessions.StatusIdle, "explode"}} {
		_, err := sessions.Next(c.from, c.on)
		require.ErrorIs(t, err, sessions.ErrInvalidTransition)
		require.ErrorContains(t, err, string(c.from))
		require.ErrorContains(t, err, string(c.on))
	}
}

func TestLifecycleHasOneRowAPair(t *testing.T) {
	seen := map[sessions.Transition]bool{}
	for _, row := range sessions.Lifecycle() {
		pair := sessions.Transition{From: row.From, On: row.On}
		require.False(t, seen[pair], "%v has two rows", pair)
		seen[pair] = true
	}
	sessions.Lifecycle()[0].To = "changed"
	require.NotEqual(t, sessions.Status("changed"), sessions.Lifecycle()[0].To)
}

func TestListersAreWhole(t *testing.T) {
	require.ElementsMatch(t, append(sessions.Statuses(), sessions.Deleted), typed[sessions.Status](t, "lifecycle.go", "Status"))
	require.ElementsMatch(t, sessions.Triggers(), typed[sessions.Trigger](t, "lifecycle.go", "Trigger"))
	require.ElementsMatch(t, sessions.TurnStatuses(), typed[sessions.TurnStatus](t, "turn.go", "TurnStatus"))
}

func typed[S ~string](t *testing.T, file, typeName string) []S {
	t.Helper()
	var all []S
	for _, text := range slices.Sorted(maps.Values(constantsOf(t, file, typeName))) {
		all = append(all, S(text))
	}
	return all
}

func TestDiagramDrawsTheTable(t *testing.T) {
	diagram := sessions.Diagram()
	require.Equal(t, diagram, sessions.Diagram())
	lines := strings.Split(strings.TrimSuffix(diagram, "\n"), "\n")
	require.Equal(t, "stateDiagram-v2", lines[0])
	require.Equal(t, "    [*] --> created: create, or first prompt of a key", lines[1])
	require.Len(t, lines, 2+len(sessions.Lifecycle()))
	require.Contains(t, lines, "    running --> waiting: turn waited")
	require.Contains(t, lines, "    waiting --> closed: close")
	require.Contains(t, lines, "    closed --> [*]: delete")
	require.NotContains(t, diagram, "deleted")
}
