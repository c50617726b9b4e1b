package model

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/host/api"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
)

const (
	clients    = 4 // of a concurrent history
	clientAsks = 7 // how often each of them asks
)

// TestConcurrentHistories runs clients side by side on one key, and finds an
// order of their commands that the sequential model allows, within the times
// that each was under way.
func TestConcurrentHistories(t *testing.T) {
	for _, s := range []setting{{sqlite.FramesRecord, time.Hour}, {sqlite.FramesFile, time.Millisecond}} {
		t.Run(fmt.Sprint(s.frames, " ", s.idle), func(t *testing.T) {
			w := newWorld(t, s)
			defer w.end()
			seed := uint64(time.Now().UnixNano())
			for n := range *rounds / 2 {
				key, seed := fmt.Sprint("key", n), seed+uint64(n)
				history := record(w, key, seed)
				result, info := porcupine.CheckOperationsVerbose(linear, history, patience)
				if result == porcupine.Ok {
					requireDeletesMet(t, history)
					continue
				}
				file, err := writeHistory(info)
				require.NoError(t, err)
				for _, o := range history {
					t.Logf("%d [%d, %d] %s", o.ClientId, o.Call, o.Return, linear.DescribeOperation(o.Input, o.Output))
				}
				require.Fail(t, "the history is not linearizable", "%s, seed %d; see %s", result, seed, file)
			}
		})
	}
}

// recorder writes a history down.
type recorder struct {
	*world
	key   string
	clock atomic.Int64 // counts beginnings and ends

	mu  sync.Mutex
	all []porcupine.Operation
}

// record runs one history.
func record(w *world, key string, seed uint64) []porcupine.Operation {
	r := &recorder{world: w, key: key}
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(client)))
			for n := range clientAsks {
				r.ask(client, random, fmt.Sprint(key, "-", client, "-", n))
			}
		})
	}
	running.Wait()
	r.call(0, opGet)
	return r.all
}

// ask sends one command of a client's choice.
func (r *recorder) ask(client int, random *rand.Rand, request string) {
	switch n := random.IntN(16); {
	case n < 7:
		r.prompt(client, request, []string{say, tool, tooling}[random.IntN(3)])
	case n < 9:
		r.call(client, opCreate)
	case n < 11:
		r.call(client, opGet)
	case n < 12:
		r.call(client, opClose)
	case n < 13:
		r.call(client, opDetach)
	case n < 15:
		r.call(client, opDelete)
	default:
		r.call(client, opReject)
	}
}

func (r *recorder) done(client int, began int64, in input, out output) {
	ended := r.clock.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, porcupine.Operation{ClientId: client, Input: in, Call: began, Output: out, Return: ended})
}

// prompt sends a prompt and writes down its accept and its end.
func (r *recorder) prompt(client int, request, kind string) {
	began := r.clock.Add(1)
	accepted, reply := make(chan actors.PromptAccepted, 1), make(chan actors.PromptReply, 1)
	r.host.System().Prompt(&actors.Prompt{
		Owner: sessions.LocalOwner, At: address{key: r.key}.wire().At(), Content: sessions.Text(kind + " " + request),
		Request: sessions.Request{ID: sessions.RequestID(request)}, Accepted: accepted, Reply: reply,
	})
	ctx, cancel := within()
	defer cancel()
	select {
	case got := <-accepted:
		r.done(client, began, input{opAccept, request}, output{id: got.SessionID})
	case got := <-reply:
		reply <- got
		select {
		case got := <-accepted: // the end came on its heels
			r.done(client, began, input{opAccept, request}, output{id: got.SessionID})
		default:
			r.done(client, began, input{opAccept, request}, output{code: sessions.CodeOf(got.Err)})
			return
		}
	case <-ctx.Done():
		r.t.Errorf("prompt %s is not answered", request)
		return
	}
	select {
	case got := <-reply:
		out := output{}
		if got.Err != nil {
			out.code = got.Err.Code
		}
		r.done(client, began, input{opEnd, request}, out)
	case <-ctx.Done():
		r.t.Errorf("the end of %s is not told", request)
	}
}

// call sends a command other than a prompt.
func (r *recorder) call(client int, what op) {
	at := address{key: r.key}.wire()
	ctx, cancel := within()
	defer cancel()
	shown := func(s sessions.Session) output { return output{id: s.ID, status: s.Status, turns: s.TurnCount} }
	var out output
	var err error
	began := r.clock.Add(1)
	switch what {
	case opCreate:
		var got *api.SessionCreateResult
		if got, err = r.host.SessionCreate(ctx, &api.SessionCreateArgs{Address: at}); err == nil {
			out = output{id: got.Session.ID, did: got.Created}
		}
	case opGet:
		var got *api.SessionGetResult
		if got, err = r.host.SessionGet(ctx, &api.SessionGetArgs{Address: at}); err == nil {
			out = shown(got.Session)
		}
	case opClose:
		var got *api.SessionCloseResult
		if got, err = r.host.SessionClose(ctx, &api.SessionCloseArgs{Address: at}); err == nil {
			out = shown(got.Session)
		}
	case opDetach:
		var got *api.SessionDetachResult
		if got, err = r.host.SessionDetach(ctx, &api.SessionDetachArgs{Address: at}); err == nil {
			out = shown(got.Session)
		}
	case opDelete, opReject:
		args := &api.SessionDeleteArgs{Address: at}
		if what == opReject {
			args.IfBusy = api.IfBusyReject
		}
		var got *api.SessionDeleteResult
		if got, err = r.host.SessionDelete(ctx, args); err == nil {
			out.did = got.Deleted
		}
	}
	if ctx.Err() != nil {
		r.t.Errorf("%s is not answered", what)
	}
	if out.code = sessions.CodeOf(err); out.code == sessions.CodeInternal {
		r.t.Logf("%s: %+v", what, err)
	}
	r.done(client, began, input{op: what}, out)
	if what == opClose || what == opDetach {
		r.done(client, began, input{op: opCut}, output{})
	}
}
