package model

import (
	"context"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/host/api"
	"agenthost/sessions"
)

// machine runs one history: each command against the host and the contract.
type machine struct {
	t *rapid.T
	*world
	model    *contract
	asked    []func(*rapid.T) // requests with an id, to be sent again
	waiters  []*waiter
	compared map[*session]string // how each was when it was last compared
	requests int
	prompts  int
}

// waiter is a caller who waits for the end of a turn that is held.
type waiter struct {
	turn   *turn
	frames []sessions.Frame // until the answer, of the goroutine alone
	answer chan sessions.Code
}

func newMachine(t *rapid.T, w *world) *machine {
	return &machine{t: t, world: w, model: newContract(w.clock.Load()), compared: map[*session]string{}}
}

// Where sessions are looked for: two keys, two ids, and what the host has named.
func (m *machine) drawAddress(t *rapid.T) address {
	n := rapid.IntRange(0, 5).Draw(t, "address")
	switch {
	case n < 2:
		return address{key: fmt.Sprint("k", n)}
	case n < 4:
		return address{id: fmt.Sprint("s", n)}
	}
	if len(m.model.sessions) == 0 {
		return address{key: "k0"}
	}
	return address{id: rapid.SampledFrom(m.model.sessions).Draw(t, "session").id}
}

// drawRequest makes a new request id, or none.
func (m *machine) drawRequest(t *rapid.T) string {
	if rapid.IntRange(0, 3).Draw(t, "request") == 0 {
		return ""
	}
	m.requests++
	return fmt.Sprint("r", m.requests)
}

func (m *machine) drawText(t *rapid.T, kinds ...string) string {
	m.prompts++
	return fmt.Sprint(rapid.SampledFrom(kinds).Draw(t, "kind"), " ", m.prompts)
}

// keep lets a request be sent again later, unless its id means nothing.
func (m *machine) keep(request string, send func(*rapid.T)) {
	if request != "" {
		m.asked = append(m.asked, send)
	}
}

// prompt sends a prompt of any kind.
func (m *machine) prompt(t *rapid.T) {
	r := start{
		at: m.drawAddress(t), request: m.drawRequest(t),
		text: m.drawText(t, say, tool, tooling, fail, half, brittle, endless, stray, hold, murmur, late, work, safe),
	}
	if rapid.IntRange(0, 4).Draw(t, "limited") == 0 {
		r.limit = rapid.IntRange(1, maxIterations).Draw(t, "limit")
	}
	r.busy = rapid.SampledFrom(append(sessions.BusyPolicies(), "")).Draw(t, "busy")
	r.mark = fmt.Sprint("prompt ", r.at, r.text)
	m.keep(r.request, func(t *rapid.T) { m.start(t, r) })
	if r.request != "" && rapid.IntRange(0, 7).Draw(t, "clash") == 0 {
		other := r
		other.text += " too"
		other.mark += " too"
		m.keep(r.request, func(t *rapid.T) { m.start(t, other) })
	}
	m.start(t, r)
}

// retry takes up the last turn of a session.
func (m *machine) retry(t *rapid.T) {
	r := start{at: m.drawAddress(t), request: m.drawRequest(t)}
	if s := m.model.find(r.at); s != nil && len(s.turns) > 0 && rapid.Bool().Draw(t, "named") {
		r.turn = rapid.SampledFrom(s.turns).Draw(t, "turn").id
	}
	r.mark = fmt.Sprint("retry ", r.at, r.turn)
	m.keep(r.request, func(t *rapid.T) { m.start(t, r) })
	m.start(t, r)
}

// start sends a prompt or a retry, as far as the contract says it goes.
func (m *machine) start(t *rapid.T, r start) {
	if m.model.doubtful(r.request) {
		return
	}
	want := m.model.start(r)
	wait := api.WaitDone
	if want.turn != nil && !want.turn.status.Terminal() {
		wait = api.WaitAccepted
	}
	got, code := m.send(r, wait)
	if wait == api.WaitAccepted {
		want.code = ""
	}
	require.Equal(t, want.code, code, "%+v", r)
	if want.session == nil || code != "" {
		m.learnTurn(want)
		return
	}
	require.Equal(t, want.duplicate, got.Duplicate)
	m.name(want.session, got.SessionID)
	if want.turn.id == "" {
		want.turn.id, want.turn.request = got.TurnID, string(got.RequestID)
	}
	if want.told != nil {
		want.told.request = string(got.RequestID)
	}
	require.Equal(t, want.turn.id, got.TurnID)
	defer m.settle(want.session)
	if wait == api.WaitAccepted {
		return
	}
	require.Equal(t, want.turn.final, sessions.TextOf(got.Message.Content))
}

func (m *machine) send(r start, wait api.Wait) (*api.PromptResult, sessions.Code) {
	if r.text == "" {
		return ask(m.world, retry, &api.RetryArgs{
			Address: r.at.wire(), TurnID: r.turn, RequestID: sessions.RequestID(r.request), Wait: wait,
		})
	}
	args := &api.PromptArgs{Address: r.at.wire(), Text: r.text, RequestID: sessions.RequestID(r.request), Wait: wait, Busy: r.busy}
	if r.limit > 0 {
		args.MaxIterations = &r.limit
	}
	return ask(m.world, prompt, args)
}

// learnTurn finds out the ids of a turn whose end was told as an error.
func (m *machine) learnTurn(of accept) {
	if of.turn == nil || of.turn.id != "" {
		return
	}
	at := address{id: of.session.id}
	if at.id == "" {
		at.key = of.session.key
		got, code := ask(m.world, (*hostAccess).SessionGet, &api.SessionGetArgs{Address: at.wire()})
		require.Empty(m.t, code)
		m.name(of.session, got.Session.ID)
		at = address{id: of.session.id}
	}
	got, code := ask(m.world, (*hostAccess).Turns, &api.TurnsArgs{Address: at.wire()})
	require.Empty(m.t, code)
	require.NotEmpty(m.t, got.Turns)
	newest := got.Turns[0]
	if i := slices.IndexFunc(got.Turns, func(t sessions.Turn) bool { return string(t.RequestID) == of.turn.request }); i > 0 {
		newest = got.Turns[i]
	}
	of.turn.id, of.turn.request = newest.TurnID, string(newest.RequestID)
}

// name is told the id of a session.
func (m *machine) name(s *session, id sessions.SessionID) {
	if s.id == "" {
		s.id = string(id)
	}
	require.Equal(m.t, s.id, string(id))
}

// again sends a request again that was sent before.
func (m *machine) again(t *rapid.T) {
	if len(m.asked) > 0 {
		rapid.SampledFrom(m.asked).Draw(t, "request")(t)
	}
}

// join lets another caller wait for a turn that is held.
func (m *machine) join(t *rapid.T) {
	var ids []string
	for request, k := range m.model.claims {
		if k.runs() && k.turn.begun && k.turn.request == request && k.asked.text != "" {
			ids = append(ids, request)
		}
	}
	if len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	k := m.model.claims[rapid.SampledFrom(ids).Draw(t, "joined")]
	w := &waiter{turn: k.turn, answer: make(chan sessions.Code, 1)}
	joined := make(chan struct{})
	running := m.host
	args := &api.PromptArgs{Address: k.asked.at.wire(), Text: k.asked.text, RequestID: sessions.RequestID(k.turn.request)}
	go func() {
		ctx, cancel := within()
		defer cancel()
		_, err := running.Prompt(ctx, args, func(f sessions.Frame) error {
			if len(w.frames) == 0 && f.Seq > 0 {
				close(joined)
			}
			if f.Seq > 0 {
				w.frames = append(w.frames, f)
			}
			return nil
		})
		w.answer <- sessions.CodeOf(err)
	}()
	select {
	case <-joined:
	case code := <-w.answer:
		require.Fail(t, "the turn is not joined", "%s", code)
	}
	m.waiters = append(m.waiters, w)
}

// told collects the answers to those who waited for turns that have ended, or
// for a host that has: then why is the code that they get.
func (m *machine) told(why sessions.Code) {
	m.waiters = slices.DeleteFunc(m.waiters, func(w *waiter) bool {
		want := w.turn.code
		switch {
		case why != "":
			want = why
		case !w.turn.status.Terminal() && want == "":
			return false
		}
		require.Equal(m.t, want, <-w.answer, "turn %s", w.turn.id)
		if w.turn.status.Terminal() && why == "" {
			requireOneEnd(m.t, w.frames, w.turn)
		}
		return true
	})
}

// await waits for the ends of turns that go on by themselves.
func (m *machine) await(ctx context.Context, of []*session) {
	for _, s := range of {
		last := s.begun[len(s.begun)-1]
		if !last.status.Terminal() {
			m.player.await(m.t, last.held, m.model.arrivals[last.held])
			continue
		}
		args := &api.TurnArgs{Address: address{id: s.id}.wire(), TurnID: last.id, Wait: api.WaitDone}
		if last.id == "" { // it was text when it was accepted
			args.RequestID = sessions.RequestID(last.request)
		}
		got, err := m.host.Turn(ctx, args)
		require.NoError(m.t, err)
		require.Equal(m.t, last.status, got.Turn.Status)
	}
}

// settle waits until a session has come to where the contract has it.
func (m *machine) settle(s *session) {
	if s == nil || len(s.begun) == 0 {
		return
	}
	ctx, cancel := within()
	defer cancel()
	m.await(ctx, []*session{s})
}

// keptText lets the contract know of text that was durable when the host was
// left behind, of a turn that was not taken up again: it depends on the time
// that it was held for.
func (m *machine) keptText(of []looped) {
	for _, end := range of {
		s := end.session
		if end.text == "" {
			continue
		}
		got, code := ask(m.world, (*hostAccess).Messages, &api.MessagesArgs{Address: address{id: s.id}.wire()})
		require.Empty(m.t, code)
		if len(got.Messages) > len(s.messages) {
			kept := message{role: sessions.RoleAssistant, text: end.text, interrupted: true}
			s.messages = slices.Insert(s.messages, end.after, kept)
		}
	}
}
