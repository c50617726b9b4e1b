package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/sessions"
)

type hostAccess = host.Access

// create makes a session, by id, by key, by both or by neither.
func (m *machine) create(t *rapid.T) {
	at := address{
		id:  rapid.SampledFrom([]string{"", "s2", "s3"}).Draw(t, "id"),
		key: rapid.SampledFrom([]string{"", "k0", "k1"}).Draw(t, "key"),
	}
	request, title := m.drawRequest(t), rapid.SampledFrom([]string{"", "a title"}).Draw(t, "title")
	below := m.drawChild(t)
	send := func(t *rapid.T) { m.createAs(t, at, request, title, below) }
	m.keep(request, send)
	send(t)
}

func (m *machine) createAs(t *rapid.T, at address, request, title string, below child) {
	if m.model.doubtful(request) {
		return
	}
	s, made, want := m.model.create(at, request, fmt.Sprint("create ", at, title, below), title, below)
	got, code := ask(m.world, (*hostAccess).SessionCreate, &api.SessionCreateArgs{
		Address: at.wire(), RequestID: sessions.RequestID(request), Title: title,
		ParentID: sessions.SessionID(below.parent), ParentLocation: below.location,
	})
	require.Equal(t, want, code, "create %v", at)
	if want == "" {
		require.Equal(t, made, got.Created)
		m.name(s, got.Session.ID)
	}
}

// seed appends a transcript.
func (m *machine) seed(t *rapid.T) {
	at, request, text := m.drawAddress(t), m.drawRequest(t), m.drawText(t, say, tool)
	said := []message{{role: sessions.RoleUser, text: text}, {role: sessions.RoleAssistant, text: "seeded"}}
	calls := rapid.IntRange(0, 2).Draw(t, "calls")
	if calls > 0 {
		said[1].calls = calls
		for range calls {
			said = append(said, message{role: sessions.RoleTool})
		}
	}
	state := map[string]string{}
	if rapid.Bool().Draw(t, "state") {
		state["seeded"] = fmt.Sprintf("%q", text)
	}
	send := func(t *rapid.T) { m.seedAs(t, at, request, said, state) }
	m.keep(request, send)
	send(t)
}

func (m *machine) seedAs(t *rapid.T, at address, request string, said []message, state map[string]string) {
	if m.model.doubtful(request) {
		return
	}
	s, appended, want := m.model.seed(at, request, fmt.Sprint("seed ", at, said, state), said, state)
	args := &api.SessionSeedArgs{Address: at.wire(), RequestID: sessions.RequestID(request), State: map[string]json.RawMessage{}}
	for name, text := range state {
		args.State[name] = json.RawMessage(text)
	}
	n := 0
	for _, s := range said {
		one := api.SeedMessage{Role: s.role, Content: sessions.Text(s.text)}
		for i := range s.calls {
			id := sessions.CallID(fmt.Sprint(said[0].text, "-", i))
			one.ToolCalls = append(one.ToolCalls, sessions.ToolCall{ID: id, Path: notePath, Args: json.RawMessage("{}")})
		}
		if s.role == sessions.RoleTool {
			one.Content = []sessions.Content{{Type: sessions.ContentJSON, Value: json.RawMessage("1")}}
			one.ToolCallID = sessions.CallID(fmt.Sprint(said[0].text, "-", n))
			n++
		}
		args.Messages = append(args.Messages, one)
	}
	got, code := ask(m.world, (*hostAccess).SessionSeed, args)
	require.Equal(t, want, code, "seed %v", at)
	if want == "" {
		require.Equal(t, appended, got.Appended)
		m.name(s, got.Session.ID)
	}
}

// setState stores and removes values of one session.
func (m *machine) setState(t *rapid.T) {
	at := m.drawAddress(t)
	for range rapid.IntRange(1, 4).Draw(t, "writes") {
		m.setStateOf(t, at)
	}
}

func (m *machine) setStateOf(t *rapid.T, at address) {
	name := rapid.SampledFrom([]string{"seeded", "snapshot"}).Draw(t, "name")
	text := rapid.SampledFrom([]string{"", "1", `{"a":2}`}).Draw(t, "value")
	args := &api.StateSetArgs{Address: at.wire(), Name: name, Value: api.Null[json.RawMessage]()}
	if text != "" {
		args.Value = api.Of(json.RawMessage(text))
	}
	if rapid.Bool().Draw(t, "conditional") {
		args.IfVersion = new(rapid.Int64Range(0, 3).Draw(t, "version"))
	}
	version, want := m.model.setState(at, name, text, args.IfVersion)
	got, code := ask(m.world, (*hostAccess).StateSet, args)
	require.Equal(t, want, code, "state of %v", at)
	if want == "" {
		require.Equal(t, version, got.Version)
	}
}

// cancel cancels a turn, by its request id, by another, or by none.
func (m *machine) cancel(t *rapid.T) {
	at, request := m.drawAddress(t), rapid.SampledFrom([]string{"", "other", "own", "waiting"}).Draw(t, "which")
	s := m.model.find(at)
	switch {
	case request == "own" && s != nil && s.active() != nil:
		request = s.active().request
	case request == "waiting" && s != nil && len(s.queue)+len(s.texts) > 0:
		request = rapid.SampledFrom(slices.Concat(s.queue, s.texts)).Draw(t, "waiting").request
	case request == "own":
		request = ""
	}
	done, want := m.model.cancel(at, request)
	got, code := ask(m.world, (*hostAccess).Cancel, &api.CancelArgs{Address: at.wire(), RequestID: sessions.RequestID(request)})
	require.Equal(t, want, code, "cancel %v", at)
	if want == "" {
		require.Equal(t, done, got.Cancelled)
		m.settle(s)
	}
}

func (m *machine) close(t *rapid.T) {
	at, reason := m.drawAddress(t), rapid.SampledFrom([]string{"", "done"}).Draw(t, "reason")
	want := m.model.close(at, reason)
	_, code := ask(m.world, (*hostAccess).SessionClose, &api.SessionCloseArgs{Address: at.wire(), Reason: reason})
	require.Equal(t, want, code, "close %v", at)
}

func (m *machine) detach(t *rapid.T) {
	at := m.drawAddress(t)
	want := m.model.detach(at)
	_, code := ask(m.world, (*hostAccess).SessionDetach, &api.SessionDetachArgs{Address: at.wire()})
	require.Equal(t, want, code, "detach %v", at)
	if want == "" {
		m.settle(m.model.find(at))
	}
}

func (m *machine) clear(t *rapid.T) {
	n := m.model.clear()
	got, code := ask(m.world, (*hostAccess).SessionClearAll, &api.SessionClearAllArgs{})
	require.Empty(t, code)
	require.Equal(t, n, got.Receipt.Sessions)
	require.True(t, got.Receipt.Complete)
}

func (m *machine) update(t *rapid.T) {
	at := m.drawAddress(t)
	var title *string
	labels := map[string]string{}
	if rapid.Bool().Draw(t, "titled") {
		title, labels = new(rapid.SampledFrom([]string{"", "another"}).Draw(t, "title")), nil
	} else if rapid.Bool().Draw(t, "labelled") {
		labels["a"] = "b"
	}
	want := m.model.update(at, title, labels)
	_, code := ask(m.world, (*hostAccess).SessionUpdate, &api.SessionUpdateArgs{Address: at.wire(), Title: title, Labels: labels})
	require.Equal(t, want, code, "update %v", at)
}

// release opens the gate of a turn that is held.
func (m *machine) release(t *rapid.T) {
	var gates []string
	for _, s := range m.model.sessions {
		if a := s.active(); a != nil && !slices.Contains(gates, a.held) {
			gates = append(gates, a.held)
		}
	}
	if len(gates) == 0 {
		return
	}
	gate := rapid.SampledFrom(gates).Draw(t, "gate")
	freed := m.model.release(gate)
	m.player.release(gate)
	ctx, cancel := within()
	defer cancel()
	m.await(ctx, freed)
}

// provider makes the provider ill or well.
func (m *machine) provider(*rapid.T) {
	m.model.ill = !m.model.ill
	m.player.ill.Store(m.model.ill)
}

// setTime moves the clock, back too.
func (m *machine) setTime(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, 3 * time.Minute, 6 * time.Minute, 31 * 24 * time.Hour, -2 * time.Second, -time.Hour,
	}).Draw(t, "step")
	m.model.set(m.model.now + step.Milliseconds())
	m.setClock(m.model.now)
}

// evicted waits until no agent is left that has nothing to do.
func (m *machine) evicted(t *rapid.T) {
	if m.setting.idle > time.Second {
		return
	}
	busy := int64(0)
	for _, s := range m.model.sessions {
		if s.active() != nil {
			busy++
		}
	}
	for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		got, code := ask(m.world, (*hostAccess).HostInfo, &api.HostInfoArgs{})
		require.Empty(t, code)
		if got.ResidentSessions == busy {
			return
		}
		require.True(t, time.Now().Before(until), "%d agents stay, %d are busy", got.ResidentSessions, busy)
	}
}

// restartClean stops the host and starts it again.
func (m *machine) restartClean(*rapid.T) {
	m.restart()
	m.restarted(true)
}

// crashHost leaves the host as a kill would.
func (m *machine) crashHost(*rapid.T) {
	m.crash()
	m.restarted(false)
}

func (m *machine) restarted(clean bool) {
	m.told(sessions.CodeHostStopping)
	looped := m.model.restart(clean)
	ctx, cancel := within()
	defer cancel()
	m.await(ctx, slices.DeleteFunc(slices.Clone(m.model.sessions), func(s *session) bool { return len(s.begun) == 0 }))
	m.keptText(looped)
	clear(m.compared)
}
