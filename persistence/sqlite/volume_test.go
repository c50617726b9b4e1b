//go:build !race

package sqlite_test

import (
	"testing"

	"agenthost/persistence/sqlite"
)

func TestVolumeOfFrames(t *testing.T) {
	eachWay(t, func(t *testing.T, frames string) {
		t.Helper()
		contract(sqlite.Config{Durability: sqlite.DurabilityProcess, Frames: frames}).RunVolume(t)
	})
}
