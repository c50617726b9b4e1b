package storetest

import (
	"testing"

	"agenthost/sessions"
)

// Factory makes the stores that the suite tries.
type Factory struct {
	// Skip leaves out parts of the suite, each for a reason that is printed. They
	// are named as go test names them: a topic as in "fork", a case of one as in
	// "delete/nothing to delete is no error". A name that there is not fails the
	// suite.
	Skip map[string]string
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
	// Unused names the tables of Rows that s never writes to, as it is configured.
	// Every other one must get rows from the suite.
	Unused []string
	// Residue counts all that s keeps, by table or the like, without tombstones:
	// what is not equal before a session and after its delete is left of it. nil
	// means that Rows and Files are counted.
	Residue func(t *testing.T, s sessions.Store) map[string]int
	// InsertUsage stores usage of a life that no turn has reported, as an embedder
	// may, and CountUsage counts its usage records. nil leaves out the tests that
	// need them.
	InsertUsage func(t *testing.T, s sessions.Store, life sessions.Incarnation)
	CountUsage  func(t *testing.T, s sessions.Store, life sessions.Incarnation) int
	// StripLocation takes the location from a stored ref behind the store's back.
	// nil leaves out the tests that need it.
	StripLocation func(t *testing.T, s sessions.Store, parent sessions.Incarnation, child sessions.SessionID)
	// Hold keeps s from doing writes until release is called. They are done in the
	// order in which they came to wait; waiting says how many do. nil leaves out
	// the races whose order is forced.
	Hold func(t *testing.T, s sessions.Store) (waiting func() int, release func())
	// Damage changes one stored byte of the newest message of a life behind the
	// store's back. nil leaves out the tests that need it.
	Damage func(t *testing.T, s sessions.Store, life sessions.Incarnation)

	topic string // the one that runs
	known *known
}

// Run tries the factory's stores against the contract.
func (f Factory) Run(t *testing.T) {
	t.Helper()
	topics := []struct {
		name string
		run  func(*testing.T, Factory)
	}{
		{"create", testCreate},
		{"update", testUpdate},
		{"claim request", testClaimRequest},
		{"settled", testSettled},
		{"list by id", testListByID},
		{"resolve", testResolve},
		{"over", testOver},
		{"accept", testAccept},
		{"dedupe", testDedupe},
		{"races", testRaces},
		{"commit", testCommit},
		{"end", testEnd},
		{"detach", testDetach},
		{"queue", testQueue},
		{"interrupt", testInterrupt},
		{"steer", testSteer},
		{"withdraw", testWithdraw},
		{"queue ends", testQueueEnd},
		{"queue races", testQueueRaces},
		{"waiting", testWaiting},
		{"answers", testAnswers},
		{"wait ends", testWaitEnds},
		{"wait races", testWaitRaces},
		{"messages", testMessages},
		{"frames", testFrames},
		{"retention", testRetention},
		{"retry", testRetry},
		{"inference", testInference},
		{"resume", testResume},
		{"state", testState},
		{"set state", testSetState},
		{"summary", testSummary},
		{"turns", testTurns},
		{"list", testList},
		{"list all", testListAll},
		{"walk", testWalk},
		{"seed", testSeed},
		{"fork", testFork},
		{"retire", testRetire},
		{"close session", testCloseSession},
		{"refs", testRefs},
		{"child call", testChildCall},
		{"delete", testDelete},
		{"receipt", testReceipt},
		{"tree", testTree},
		{"tree races", testTreeRaces},
		{"residue", testResidue},
		{"usage", testUsage},
		{"keys", testKeys},
		{"saved agents", testSavedAgents},
		{"announce", testAnnounce},
		{"clear", testClear},
		{"sweep", testSweep},
		{"compact", testCompact},
		{"clock", testClock},
		{"text", testText},
		{"copies", testCopies},
		{"damage", testDamage},
		{"context", testContext},
		{"reopen", testReopen},
		{"close", testClose},
	}
	f.known = &known{names: map[string]bool{}}
	var names []string
	for _, topic := range topics {
		names = append(names, topic.name)
	}
	t.Cleanup(func() {
		for _, name := range f.known.lack(names, f.Skip) {
			t.Errorf("nothing of the suite is named %q; look at Factory.Skip", name)
		}
	})
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			f := f
			f.topic = topic.name
			f.enter(t)
			topic.run(t, f)
		})
	}
}
