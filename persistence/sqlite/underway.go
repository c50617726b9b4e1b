package sqlite

import (
	"maps"
	"sync"

	"agenthost/sessions"
)

// underway knows which removal takes which life away, so that what one has taken
// is counted by it alone, and nobody waits for the work of others. It is safe for
// concurrent use.
type underway struct {
	mu     sync.Mutex
	lives  map[sessions.Incarnation]*removal
	owners map[sessions.Owner]int // clears that have not yet taken their lives
}

// hiddenLife is a life whose rows are still to be removed.
type hiddenLife struct {
	owner sessions.Owner
	life  sessions.Incarnation
}

// take gives a removal those of the lives that no other has, and returns them.
func (u *underway) take(r *removal, hidden []hiddenLife) []sessions.Incarnation {
	u.mu.Lock()
	defer u.mu.Unlock()
	mine := []sessions.Incarnation{}
	for _, h := range hidden {
		if u.lives[h.life] == nil && (r.clears && r.owner == h.owner || u.owners[h.owner] == 0) {
			u.set(h.life, r)
			mine = append(mine, h.life)
		}
	}
	return mine
}

// own gives a removal the lives that it has hidden itself, and no others: a job
// that is run again may find fewer than the first time.
func (u *underway) own(r *removal, lives []sessions.Incarnation) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(r)
	for _, life := range lives {
		u.set(life, r)
	}
}

func (u *underway) set(life sessions.Incarnation, r *removal) {
	if u.lives == nil {
		u.lives = map[sessions.Incarnation]*removal{}
	}
	u.lives[life] = r
}

// leave ends a removal: what it has is gone, or a later one takes it up. It is
// called once, on every way out, as others may be waiting for it.
func (u *underway) leave(r *removal) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(r)
	close(r.done)
}

func (u *underway) drop(r *removal) {
	maps.DeleteFunc(u.lives, func(_ sessions.Incarnation, of *removal) bool { return of == r })
}

// clear keeps what an owner has hidden for the removal that is about to hide all
// the owner has.
func (u *underway) clear(owner sessions.Owner) (done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.owners == nil {
		u.owners = map[sessions.Owner]int{}
	}
	u.owners[owner]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.owners[owner]--; u.owners[owner] == 0 {
			delete(u.owners, owner)
		}
	}
}

// others returns what else is taking away lives of an owner, or of anyone.
func (u *underway) others(owner sessions.Owner) map[*removal]struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := map[*removal]struct{}{}
	for _, r := range u.lives {
		if owner == "" || r.owner == "" || owner == r.owner {
			all[r] = struct{}{}
		}
	}
	return all
}
