package races

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

// order is how the two sides of a race come to the store.
type order string

const (
	opFirst     order = "first"
	deleteFirst order = "second"
	freely      order = "freely"
)

// dumpEvery is in which rounds all rows are compared; in the others it is enough
// that nothing was committed.
const dumpEvery = 25

// fewRounds are enough under the race detector, where TestVolumeRaces is not run.
const fewRounds = 24

func TestRaces(t *testing.T) { race(t, fewRounds) }

// race runs each race so many times in each order.
func race(t *testing.T, rounds int) {
	t.Helper()
	for _, o := range ops {
		for _, how := range []api.IfBusy{api.IfBusyCancel, api.IfBusyReject} {
			for _, in := range []order{opFirst, deleteFirst, freely} {
				t.Run(fmt.Sprintf("%s comes %s to a delete that would %s", o.name, in, how), func(t *testing.T) {
					t.Parallel()
					h := open(t)
					for n := range rounds {
						h.begin(n).race(o, how, in)
					}
					require.NotContains(t, h.rows(), mark)
				})
			}
		}
	}
}

// race runs both sides and judges what became of them.
func (r *round) race(o op, how api.IfBusy, in order) {
	if how == api.IfBusyReject && o.busy != nil {
		o.busy(r)
	}
	var acted, removed sessions.Code
	var result *api.SessionDeleteResult
	opDone, deleteDone := make(chan struct{}), make(chan struct{})
	act := func() {
		defer close(opDone)
		acted = o.do(r)
	}
	remove := func() {
		defer close(deleteDone)
		result, removed = ask(r.house, (*host.Access).SessionDelete, &api.SessionDeleteArgs{Address: byID(r.root), IfBusy: how})
	}
	unchanged := func() {}
	switch in {
	case opFirst:
		unchanged = r.inOrder(act, remove, true, false)
	case deleteFirst:
		held := o.routed && r.target == r.root
		unchanged = r.inOrder(remove, act, !held, true)
	case freely:
		r.together(act, remove)
	}
	<-deleteDone
	if removed == sessions.CodeConflict {
		unchanged()
	}
	r.letGo()
	<-opDone
	if removed == sessions.CodeConflict {
		r.requireRefused(o, how, in, acted)
		return
	}
	require.Empty(r.t, removed)
	require.True(r.t, result.Deleted)
	require.Empty(r.t, result.Teardown)
	r.requireEnded(o, how, in, acted)
}

// requireRefused judges a race whose delete was refused: the op is done, and the
// tree is there.
func (r *round) requireRefused(o op, how api.IfBusy, in order, acted sessions.Code) {
	r.t.Helper()
	require.Equal(r.t, api.IfBusyReject, how)
	require.True(r.t, in != opFirst && o.refusedFirst || in != deleteFirst && o.refused, "a delete that comes %s", in)
	require.Empty(r.t, acted)
	o.kept(r)
	for _, id := range []sessions.SessionID{r.child, r.sibling} {
		require.Equal(r.t, r.root, r.get(id).ParentID)
	}
	r.remove(r.root)
	r.requireGone()
}

// requireEnded judges a race whose delete went through.
func (r *round) requireEnded(o op, how api.IfBusy, in order, acted sessions.Code) {
	r.t.Helper()
	if how == api.IfBusyReject {
		require.True(r.t, in != opFirst && !o.refusedFirst || in != deleteFirst && !o.refused, "a busy tree has ended")
	}
	want := slices.Concat(o.first, o.second)
	switch in {
	case opFirst:
		want = o.first
	case deleteFirst:
		want = o.second
	case freely:
	}
	require.Contains(r.t, want, acted)
	if acted == "" && o.outlives != nil {
		o.outlives(r)
	}
	r.requireGone()
}

// inOrder lines up two writes, so that the first is durable before the second
// begins. lined says that the second stands in the writer's line too; another
// waits elsewhere. The result, to be called before anything else is written,
// checks that the delete of the two, the first or the second, changed nothing.
func (r *round) inOrder(first, second func(), lined, deletes bool) (unchanged func()) {
	was := r.stored()
	stop := r.store.Hold()
	stop.Reached()
	go first()
	r.awaitLine(1)
	between := r.store.Hold()
	go second()
	if lined {
		r.awaitLine(3)
	}
	stop.Go()
	between.Reached()
	meanwhile := r.stored()
	between.Go()
	if deletes {
		return func() { require.Equal(r.t, was, meanwhile) }
	}
	require.NotEqual(r.t, was, meanwhile, "the op is durable by now")
	return func() { require.Equal(r.t, meanwhile, r.stored()) }
}

// stored is what changes with any row of any table.
func (r *round) stored() string {
	r.t.Helper()
	if r.n%dumpEvery == 0 {
		return fmt.Sprint(r.version(), r.rows())
	}
	return fmt.Sprint(r.version())
}

// together starts both sides at about the same time, in an order left to chance.
func (r *round) together(one, other func()) {
	start := make(chan struct{})
	for _, side := range []func(){one, other} {
		pause := rand.IntN(64)
		go func() {
			<-start
			for range pause {
				runtime.Gosched()
			}
			side()
		}()
	}
	close(start)
}
