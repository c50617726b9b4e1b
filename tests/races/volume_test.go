//go:build !race

package races

import "testing"

// TestVolumeRaces is TestRaces, a great many times.
func TestVolumeRaces(t *testing.T) { race(t, *rounds) }

// TestVolumeAgentsRaces does the same by the Agents API.
func TestVolumeAgentsRaces(t *testing.T) { raceAgents(t, *rounds) }
