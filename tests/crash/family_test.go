package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"agenthost/host/api"
	"agenthost/sessions"
)

// member is one session of a family.
type member struct {
	id     sessions.SessionID
	parent sessions.SessionID // "" of the first
	doomed bool               // the family's delete is about it
	told   bool               // a client was told that it exists
}

// family is a tree of sessions that is deleted, and all that clients were told
// of it. What is told comes from several goroutines.
type family struct {
	name   string
	delete api.SessionDeleteArgs

	mu       sync.Mutex
	members  []*member
	running  map[sessions.RequestID]*running
	answered bool     // the last delete was
	deleted  bool     // a client was told so
	complete bool     // and that nothing is left
	refused  bool     // a client was told that the last delete has done nothing
	gone     bool     // it was seen to be gone
	born     int      // children that were asked for late
	faults   []string // what clients were told and must not have been
}

// running is a prompt whose turn goes on while the family is deleted.
type running struct {
	prompt api.PromptArgs
	turn   sessions.TurnID // as told, "" if nothing was
}

// familySize is how many sessions a family begins with: each has up to two
// children, and some of these have some.
const familySize = 9

// newFamily names a family and chooses how it ends: whole or from a child on,
// with its children or without, at once or with an answer that waits.
func newFamily(name string, choose *rand.Rand) *family {
	f := &family{name: name, running: map[sessions.RequestID]*running{}}
	for n := range familySize {
		m := &member{id: f.id(fmt.Sprint(n))}
		if n > 0 {
			m.parent = f.members[(n-1)/2].id
		}
		f.members = append(f.members, m)
	}
	target := choose.IntN(3) % 2 // the first one twice as often
	f.delete = api.SessionDeleteArgs{Address: api.Address{SessionID: f.members[target].id}, Children: sessions.Cascade}
	switch choose.IntN(4) {
	case 0:
		f.delete.Children = sessions.Detach
	case 1:
		f.delete.IfBusy = api.IfBusyReject
	}
	if choose.IntN(2) == 0 {
		f.delete.DeleteGraceMs = new(int64(0)) // the answer does not wait for the removal
	}
	for _, m := range f.members {
		m.doomed = m.id == f.members[target].id || f.delete.Children == sessions.Cascade && f.isDoomed(m.parent)
	}
	return f
}

func (f *family) id(name string) sessions.SessionID {
	return sessions.SessionID("fam-" + f.name + "-" + name + "-x")
}

func (f *family) isDoomed(id sessions.SessionID) bool {
	for _, m := range f.members {
		if m.id == id {
			return m.doomed
		}
	}
	return false
}

func (f *family) fault(format string, args ...any) {
	f.faults = append(f.faults, "family "+f.name+": "+fmt.Sprintf(format, args...))
}

// seedLength is how many messages each session of a family begins with, so that
// a family takes several transactions to remove.
const seedLength = 160

// transcript is a history that names its session in every message.
func transcript(id sessions.SessionID) []api.SeedMessage {
	all := make([]api.SeedMessage, seedLength)
	for i := range all {
		role := sessions.RoleUser
		if i%2 == 1 {
			role = sessions.RoleAssistant
		}
		all[i] = api.SeedMessage{Role: role, Content: sessions.Text(fmt.Sprintf("%d of %s %s", i, id, strings.Repeat("and on ", 20)))}
	}
	return all
}

// make makes the family's sessions, with histories and turns.
func (f *family) make(ctx context.Context, w *wire) error {
	for _, m := range f.members {
		create := api.SessionCreateArgs{Address: api.Address{SessionID: m.id}, ParentID: m.parent, RequestID: sessions.RequestID("create-" + m.id)}
		if m.parent != "" {
			create.ParentLocation = sessions.Local
		}
		if _, err := ask[api.SessionCreateResult](ctx, w, api.OpSessionCreate, create); err != nil {
			return err
		}
		m.told = true
	}
	talked := make(chan error, len(f.members))
	for _, m := range f.members {
		go func() { talked <- m.talk(ctx, w) }()
	}
	var errs []error
	for range f.members {
		errs = append(errs, <-talked)
	}
	return errors.Join(errs...)
}

// talk gives the session a history and a turn.
func (m *member) talk(ctx context.Context, w *wire) error {
	at := api.Address{SessionID: m.id}
	_, seeded := ask[api.SessionSeedResult](ctx, w, api.OpSessionSeed, api.SessionSeedArgs{Address: at, Messages: transcript(m.id)})
	_, prompted := ask[api.PromptResult](ctx, w, api.OpPrompt, api.PromptArgs{
		Address: at, Text: "plain " + string(m.id), RequestID: sessions.RequestID("plain-" + m.id)})
	return errors.Join(seeded, prompted)
}

// occupy begins long turns in two of the sessions, and waits for their accept.
func (f *family) occupy(ctx context.Context, t *testing.T, w *wire, round int, waiting *sync.WaitGroup) {
	t.Helper()
	for _, n := range []int{1, 3 + round%4} {
		id := f.members[n].id
		p := api.PromptArgs{Address: api.Address{SessionID: id}, Text: "while " + string(id), RequestID: sessions.RequestID(fmt.Sprintf("while-%d-%s", round, id))}
		accepted := p
		accepted.Wait = api.WaitAccepted
		result := fetch[api.PromptResult](t, w, api.OpPrompt, accepted)
		f.mu.Lock()
		f.running[p.RequestID] = &running{p, result.TurnID}
		f.mu.Unlock()
		waiting.Go(func() { f.hear(ctx, w, p) })
	}
}

// hear waits for a turn, and takes in what its caller is told.
func (f *family) hear(ctx context.Context, w *wire, p api.PromptArgs) {
	reply, err := w.send(ctx, api.OpPrompt, p, nil)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch code := codeOf(reply); code {
	case "", sessions.CodeHostStopping:
	case sessions.CodeSessionDeleted:
		if !f.isDoomed(p.SessionID) {
			f.fault("a caller of %s, which lives on, was told %s", p.SessionID, code)
		}
		f.deleted = true
	default:
		f.fault("a caller of %s was told %q: %v", p.SessionID, code, reply.Err())
	}
}

// bear asks for children of the session to delete, meanwhile.
func (f *family) bear(ctx context.Context, w *wire) {
	for range 8 {
		f.mu.Lock()
		f.born++
		m := &member{id: f.id(fmt.Sprintf("late%d", f.born)), parent: f.delete.SessionID, doomed: f.delete.Children == sessions.Cascade}
		f.members = append(f.members, m)
		f.mu.Unlock()
		reply, err := w.send(ctx, api.OpSessionCreate, api.SessionCreateArgs{
			Address: api.Address{SessionID: m.id}, ParentID: m.parent, ParentLocation: sessions.Local}, nil)
		if err != nil {
			return
		}
		f.mu.Lock()
		m.told = reply.OK
		if code := codeOf(reply); !reply.OK && code != sessions.CodeSessionNotFound && code != sessions.CodeSessionDeleted {
			f.fault("a late child was refused with %q: %v", code, reply.Err())
		}
		f.mu.Unlock()
	}
}

// end deletes the family, and takes in what it is told.
func (f *family) end(ctx context.Context, w *wire) {
	reply, err := w.send(ctx, api.OpSessionDelete, f.delete, nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered, f.refused = err == nil, false
	if err != nil {
		return
	}
	if reply.Error != nil {
		if codeOf(reply) != sessions.CodeConflict || f.delete.IfBusy != api.IfBusyReject {
			f.fault("the delete failed: %v", reply.Err())
		}
		f.refused = true
		f.delete.IfBusy = api.IfBusyCancel // the next one goes through
		return
	}
	var result api.SessionDeleteResult
	if err := json.Unmarshal(reply.Result, &result); err != nil || !result.Deleted {
		f.fault("the delete found no session: %s", reply.Result)
		return
	}
	f.deleted, f.complete = true, result.Receipt.Complete
	if result.Receipt.Complete != (result.Teardown == "") {
		f.fault("complete is %t and teardown %q", result.Receipt.Complete, result.Teardown)
	}
}
