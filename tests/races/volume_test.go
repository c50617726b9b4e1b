//go:build !race

package races

import "testing"

// TestVolumeRaces is TestRaces, a great many times.
func TestVolumeRaces(t *testing.T) { race(t, *rounds) }
