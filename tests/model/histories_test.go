package model

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"agenthost/persistence/sqlite"
)

// raceHistories is how many histories are enough where TestVolumeHistories runs
// many more.
const raceHistories = 40

// TestHistories runs random commands, restarts, crashes and steps of the clock
// against the host and the contract.
func TestHistories(t *testing.T) {
	checks(t, raceHistories)
	rapid.Check(t, history)
}

// history is one random history of one client.
func history(t *rapid.T) {
	w := newWorld(t, setting{
		frames: rapid.SampledFrom([]string{sqlite.FramesRecord, sqlite.FramesFile}).Draw(t, "frames"),
		idle:   rapid.SampledFrom([]time.Duration{time.Millisecond, time.Hour}).Draw(t, "idle"),
	})
	t.Cleanup(w.end)
	m := newMachine(t, w)
	t.Repeat(map[string]func(*rapid.T){
		"":          m.compare,
		"create":    m.create,
		"prompt":    m.prompt,
		"prompt 2":  m.prompt,
		"prompt 3":  m.prompt,
		"again":     m.again,
		"again 2":   m.again,
		"retry":     m.retry,
		"join":      m.join,
		"release":   m.release,
		"release 2": m.release,
		"provider":  m.provider,
		"cancel":    m.cancel,
		"seed":      m.seed,
		"state":     m.setState,
		"update":    m.update,
		"close":     m.close,
		"detach":    m.detach,
		"delete":    m.remove,
		"clear":     m.clear,
		"clock":     m.setTime,
		"evicted":   m.evicted,
		"restart":   m.restartClean,
		"crash":     m.crashHost,
	})
	m.compareAll(t)
}
