//go:build !race

package model

import (
	"fmt"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// TestVolumeHistories is TestHistories, thousands of times, some side by side
// since much of a history is waiting.
func TestVolumeHistories(t *testing.T) {
	workers := 2 * runtime.GOMAXPROCS(0)
	checks(t, (*histories+workers-1)/workers)
	for n := range workers {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, history)
		})
	}
}
