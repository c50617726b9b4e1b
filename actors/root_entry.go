package actors

import (
	"cmp"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"agenthost/sessions"
)

// entryState says what the root does with a request for an entry.
type entryState int

const (
	resolving entryState = iota // the store is asked; hold
	live                        // forward, mounting an agent if there is none
	leaving                     // the agent stops; hold until it is gone
	closing                     // a deletion decides; hold
)

// maxHeld bounds the requests that wait for one session to be found or to go.
const maxHeld = 4096

// entry is what the root knows of one session, or of an address it asks about.
// A session addressed by key and by id has one entry.
type entry struct {
	owner sessions.Owner
	at    sessions.Address // as first asked for

	state     entryState
	id        sessions.SessionID // "" until known
	key       sessions.Key       // zero if none
	profile   string
	life      sessions.Incarnation // 0 until a session exists
	gen       int64                // the owner's generation when resolved
	waits     bool                 // the session may have a turn that waits for clients
	agent     *PID
	forwarded uint64    // requests sent to the agent
	held      []request // in order
	dropped   bool      // no longer in the root's maps

	deletion *deletion              // decides about the session, or has ended it
	asked    []*deletion            // wait for the agent to say whether it closes for them
	proposal *idle                  // what the agent has proposed meanwhile
	over     []sessions.Incarnation // ended while the store was asked

	ids  []idAddress // under which the root has it
	keys []keyAddress
}

// identity is what an agent is told of its session.
type identity struct {
	owner   sessions.Owner
	at      sessions.Address
	id      sessions.SessionID
	key     sessions.Key
	profile string
	life    sessions.Incarnation
	gen     int64
	waits   bool // a turn of the session may wait for clients
}

func (e *entry) identity() identity {
	return identity{e.owner, e.at, e.id, e.key, e.profile, e.life, e.gen, e.waits}
}

// learn takes over what the store says of the address.
func (e *entry) learn(means sessions.Resolution) {
	e.gen, e.waits = means.Generation, means.Waits
	if means.Life == 0 {
		e.key, e.profile = e.at.Key, e.at.Key.Profile
		return
	}
	e.life, e.id, e.key, e.profile = means.Life, means.ID, means.Key, means.Profile
}

// begins returns what the session is to begin with that the first request for a new
// id makes, nil when it makes none.
func (e *entry) begins() *sessions.NewSession {
	if len(e.held) > 0 {
		if p, ok := e.held[0].(*Prompt); ok {
			return p.begins()
		}
	}
	return nil
}

// hold adds a request to those that are held, or refuses one too many.
func hold(held []request, req request) []request {
	if len(held) >= maxHeld {
		req.refuse(errOverloaded("heldRequests", maxHeld))
		return held
	}
	return append(held, req)
}

func (r *root) lookup(owner sessions.Owner, at sessions.Address) *entry {
	if at.ID != "" {
		return r.byID[idAddress{owner, at.ID}]
	}
	return r.byKey[keyAddress{owner, at.Key}]
}

// newEntry registers an entry under the address that is asked for.
func (r *root) newEntry(owner sessions.Owner, at sessions.Address) *entry {
	e := &entry{owner: owner, at: at}
	if at.ID != "" {
		r.nameID(e, at.ID)
	} else {
		r.nameKey(e, at.Key)
	}
	return e
}

func (r *root) nameID(e *entry, id sessions.SessionID) {
	name := idAddress{e.owner, id}
	r.byID[name] = e
	if !slices.Contains(e.ids, name) {
		e.ids = append(e.ids, name)
	}
}

func (r *root) nameKey(e *entry, key sessions.Key) {
	name := keyAddress{e.owner, key}
	r.byKey[name] = e
	if !slices.Contains(e.keys, name) {
		e.keys = append(e.keys, name)
	}
}

// alias registers an entry under all names of its session. When another entry
// has the session already, it is returned instead; one that is still to find
// out gives e what it has kept.
func (r *root) alias(e *entry) *entry {
	if !e.key.IsZero() {
		if other := r.byKey[keyAddress{e.owner, e.key}]; other != nil && other != e {
			if e.id != "" {
				r.nameID(other, e.id)
			}
			return other
		}
		r.nameKey(e, e.key)
	}
	if e.id != "" {
		if other := r.byID[idAddress{e.owner, e.id}]; other != nil && other != e && other.state == resolving {
			other.giveHeld(e)
		}
		r.nameID(e, e.id)
	}
	return e
}

// giveHeld moves what an entry has kept to another of the same session, and ends it.
func (e *entry) giveHeld(to *entry) {
	to.held = append(to.held, e.held...)
	slices.SortStableFunc(to.held, func(a, b request) int {
		return cmp.Compare(a.arrived().number, b.arrived().number)
	})
	e.held, e.dropped = nil, true
}

// drop forgets an entry under all its names.
func (r *root) drop(e *entry) {
	e.dropped = true
	delete(r.unsure, e)
	for _, name := range e.ids {
		if r.byID[name] == e {
			delete(r.byID, name)
		}
	}
	for _, name := range e.keys {
		if r.byKey[name] == e {
			delete(r.byKey, name)
		}
	}
}

// release forgets an entry and routes what it has kept afresh.
func (r *root) release(ctx actor.Context, e *entry) {
	held := e.held
	e.held = nil
	r.drop(e)
	for _, req := range held {
		r.route(ctx, req)
	}
}

// refuseAll answers what an entry has kept, and forgets it if it has no agent.
func (r *root) refuseAll(e *entry, err *sessions.Error) {
	for _, req := range e.held {
		req.refuse(err)
	}
	e.held = nil
	if e.agent == nil && e.state == resolving {
		r.drop(e)
	}
}

// entries lists every entry once.
func (r *root) entries() []*entry {
	seen := map[*entry]bool{}
	var all []*entry
	add := func(e *entry) {
		if !seen[e] {
			seen[e] = true
			all = append(all, e)
		}
	}
	for _, e := range r.byID {
		add(e)
	}
	for _, e := range r.byKey {
		add(e)
	}
	return all
}
