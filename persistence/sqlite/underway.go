package sqlite

import (
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

// own gives a removal lives that it has hidden itself.
func (u *underway) own(r *removal, lives []sessions.Incarnation) {
	u.mu.Lock()
	defer u.mu.Unlock()
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

// leave lets go of what a removal has: it is gone, or a later one takes it up.
func (u *underway) leave(r *removal, lives []sessions.Incarnation) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, life := range lives {
		if u.lives[life] == r {
			delete(u.lives, life)
		}
	}
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
