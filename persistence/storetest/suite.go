package storetest

import (
	"testing"

	"agenthost/sessions"
)

// Factory makes the stores that the suite tries.
type Factory struct {
	// Open returns an empty store and closes it when the test ends.
	Open func(t *testing.T) sessions.Store
	// Reopen closes s and opens what it kept. nil leaves out the tests that need it.
	Reopen func(t *testing.T, s sessions.Store) sessions.Store
	// Keeping returns an empty store that keeps so many frames of a session, all
	// when frames is negative. nil leaves out the tests that need it.
	Keeping func(t *testing.T, frames int64) sessions.Store
	// Rows returns every row of every table of s, found by reading the schema
	// and written as text ("column=value;" for each column, a life in a column
	// named sid), by table. nil leaves out the tests that need it.
	Rows func(t *testing.T, s sessions.Store) map[string][]string
	// Files returns the paths of all files and folders in which s keeps frames.
	// nil says that it keeps none in files.
	Files func(t *testing.T, s sessions.Store) []string
	// Holds reports whether a text is anywhere in the files of s. nil leaves out
	// the checks that need it.
	Holds func(t *testing.T, s sessions.Store, text string) bool
	// Damage changes one stored byte of the newest message of a life behind the
	// store's back. nil leaves out the tests that need it.
	Damage func(t *testing.T, s sessions.Store, life sessions.Incarnation)
}

// Run tries the factory's stores against the contract.
func (f Factory) Run(t *testing.T) {
	topics := []struct {
		name string
		run  func(*testing.T, Factory)
	}{
		{"create", testCreate},
		{"update", testUpdate},
		{"resolve", testResolve},
		{"over", testOver},
		{"accept", testAccept},
		{"dedupe", testDedupe},
		{"races", testRaces},
		{"commit", testCommit},
		{"end", testEnd},
		{"detach", testDetach},
		{"messages", testMessages},
		{"frames", testFrames},
		{"retention", testRetention},
		{"retry", testRetry},
		{"resume", testResume},
		{"state", testState},
		{"set state", testSetState},
		{"turns", testTurns},
		{"list", testList},
		{"walk", testWalk},
		{"seed", testSeed},
		{"fork", testFork},
		{"retire", testRetire},
		{"close session", testCloseSession},
		{"delete", testDelete},
		{"residue", testResidue},
		{"clear", testClear},
		{"sweep", testSweep},
		{"compact", testCompact},
		{"clock", testClock},
		{"text", testText},
		{"damage", testDamage},
		{"context", testContext},
		{"reopen", testReopen},
		{"close", testClose},
	}
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			topic.run(t, f)
		})
	}
}
