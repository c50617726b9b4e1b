package model

import (
	"slices"
	"strings"

	"agenthost/sessions"
)

// Times of the contract, in milliseconds.
const (
	dedupMs     = 5 * 60 * 1000
	tombstoneMs = 30 * 24 * 60 * 60 * 1000
)

// maxIterations is the profile's bound of a turn's model calls.
const maxIterations = 4

// queueLimit bounds the queue of a session, and the texts that wait for a turn.
const queueLimit = 2

// contract is the host as its contract describes it: plain values, one command
// after another.
type contract struct {
	now    int64 // what the clock shows
	newest int64 // the newest activity
	ill    bool  // brittle prompts fail

	sessions []*session
	claims   map[string]*claim
	released map[string]bool // gates that are open, by prompt
	arrivals map[string]int  // how often each gate was come to
}

// session is one life.
type session struct {
	id, key      string // id "" until the host has told it
	status       sessions.Status
	title        string
	labels       map[string]string
	preview      string
	messages     []message
	turns        []*turn // as they were stored
	begun        []*turn // as they started
	queue        []*turn // in the order of their start
	texts        []*turn // what each text would be that waits for the active turn
	state        map[string]value
	activeAt     int64
	closedAt     int64
	closedReason string
	lastError    sessions.Code

	parent   string            // its id, "" for a root; a remote child's outlives it
	location sessions.Location // "" for a root
	holder   *session          // whose record it is in
}

// message is what the contract says of a message.
type message struct {
	role        sessions.Role
	text        string // of tool messages: none
	calls       int
	failed      bool
	interrupted bool
}

// value is a named value; version 0 means that there never was one.
type value struct {
	version int64
	json    string // "" when removed
}

// turn is one execution of a prompt.
type turn struct {
	request    string          // "" when the host chose it and has not told
	text       string          // the prompt; "" for a retry
	id         sessions.TurnID // "" until the host has told it
	begun      bool
	status     sessions.TurnStatus
	code       sessions.Code // why it failed or was interrupted
	final      string        // the answer of a completed turn
	limit      int
	iterations int
	attempts   int
	inTool     string // path of the tool that holds it; "" when the model does
	held       string // the prompt whose gate holds it
}

// claim is what is remembered of a request id.
type claim struct {
	mark     string // of the whole request: the same mark is the same request
	session  *session
	turn     *turn // that answers it; nil for requests other than prompts
	text     *turn // what its text would be that waits for turn to read it
	asked    start // the request that began the turn
	appended int
	expires  int64 // never while its turn runs
	seen     int64 // the latest time since then: what it expired by may be gone
	buried   bool
	haunted  int64 // until when a tombstone that it was laid over might still be there
}

func newContract(now int64) *contract {
	return &contract{now: now, claims: map[string]*claim{}, released: map[string]bool{}, arrivals: map[string]int{}}
}

// set moves the clock.
func (c *contract) set(now int64) {
	c.now = now
	for _, k := range c.claims {
		k.seen = max(k.seen, now)
	}
}

// remembered returns the claim of a request id, nil when there is none now.
func (c *contract) remembered(request string) *claim {
	k := c.claims[request]
	if request == "" || k == nil || !k.runs() && k.expires <= c.now {
		return nil
	}
	return k
}

func (k *claim) runs() bool { return k.turn != nil && !k.buried && !k.turn.status.Terminal() }

// doubtful reports whether the clock has been set back behind the end of a
// claim: then it depends on when the host swept whether the claim is there.
func (c *contract) doubtful(request string) bool {
	k := c.claims[request]
	return k != nil && !k.runs() && (c.now < k.expires && k.expires <= k.seen || c.now < k.haunted)
}

// remember claims a request id from now on.
func (c *contract) remember(request string, k claim) {
	if request != "" {
		if was := c.claims[request]; was != nil && was.buried {
			k.haunted = was.expires
		}
		k.expires, k.seen = c.now+dedupMs, c.now
		c.claims[request] = &k
	}
}

// address names a session by its id or by its key.
type address struct{ id, key string }

func (c *contract) find(at address) *session {
	for _, s := range c.sessions {
		if at.id != "" && s.id == at.id || at.id == "" && at.key != "" && s.key == at.key {
			return s
		}
	}
	return nil
}

// touch is an activity of a session: it moves to the head of the list.
func (c *contract) touch(s *session) {
	c.newest = max(c.newest, c.now)
	s.activeAt = c.newest
}

// bear makes a session. Of an id that is used again no trace is left.
func (c *contract) bear(at address) *session {
	for request, k := range c.claims {
		if k.buried && at.id != "" && k.session.id == at.id {
			delete(c.claims, request)
		}
	}
	s := &session{id: at.id, key: at.key, status: sessions.StatusCreated, labels: map[string]string{}, state: map[string]value{}}
	c.touch(s)
	c.sessions = append(c.sessions, s)
	return s
}

// active is the session's turn that runs, nil if none.
func (s *session) active() *turn {
	if n := len(s.begun); n > 0 && !s.begun[n-1].status.Terminal() {
		return s.begun[n-1]
	}
	return nil
}

// ended counts the session's turns that have started and ended.
func (s *session) ended() (n int64) {
	for _, t := range s.begun {
		if t.status.Terminal() {
			n++
		}
	}
	return n
}

func (s *session) say(m message) {
	s.messages = append(s.messages, m)
	if s.preview == "" && m.role == sessions.RoleUser {
		s.preview = m.text
	}
}

// position is where the model stands in the session's history.
func (s *session) position() (prompt string, n int) {
	for _, m := range slices.Backward(s.messages) {
		if m.role == sessions.RoleUser {
			return m.text, n
		}
		if m.role == sessions.RoleAssistant && !m.interrupted {
			n++
		}
	}
	return "", n
}

// list is the order of the sessions: the newest activity first.
func (c *contract) list() []*session {
	all := slices.Clone(c.sessions)
	slices.SortFunc(all, func(a, b *session) int {
		if a.activeAt != b.activeAt {
			return int(b.activeAt - a.activeAt)
		}
		return strings.Compare(b.id, a.id)
	})
	return all
}

// claimsEnd starts the last period of the claims that name a turn.
func (c *contract) claimsEnd(t *turn) {
	for _, k := range c.claims {
		if k.turn == t {
			k.expires, k.seen = c.now+dedupMs, c.now
		}
	}
}
