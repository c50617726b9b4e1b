package agentsv1

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/api"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

// A turn that is withdrawn while another one writes leaves that one's events alone, and
// nothing is lost or repeated to whoever comes back then.
func TestATurnIsWithdrawnWhileAnotherWrites(t *testing.T) {
	w := newWorld(t, playing(scripted.Step{Deltas: slowly("one ", "two ", "three "), Calls: []scripted.Call{calling("/builtin/echo", `{"text":"x"}`)}},
		scripted.Step{Text: "done"}))
	s := w.tell(body(""))
	s.say("go")
	pieces := 0
	s.hear("second piece of text", func(e seen) bool {
		if e.name == "turn.output_text.delta" {
			pieces++
		}
		return pieces == 2
	})
	s.prompt("q", "queued", sessions.BusyQueue)
	s.withdraw("q")
	all := s.hear("end", named("idle"))
	requireOnce(t, all)
	requireWhole(t, all)
	require.Len(t, turnsOf(all), 2)
	for i := range all[:len(all)-1] {
		for _, rest := range s.rests(all, i) {
			whole := slices.Concat(all[:i+1], rest)
			requireWhole(t, whole)
			require.Equal(t, texts(all), texts(whole))
			for _, turn := range turnsOf(all) { // text may become durable behind what it was shown before
				require.Equal(t, briefly(ofTurn(turn, all)), briefly(ofTurn(turn, whole)), "behind %d, %s", i, brief(all[i : i+1])[0])
			}
		}
	}
}

// briefly tells events apart, but for those whose ids and number may differ.
func briefly(events []seen) (all []string) {
	for _, e := range events {
		if e.name != "turn.output_text.delta" {
			all = append(all, brief([]seen{e})[0])
		}
	}
	return all
}

// turnsOf returns the turns that were created.
func turnsOf(events []seen) (turns []string) {
	for _, e := range events {
		if e.name == "turn.created" {
			turns = append(turns, gjson.Get(e.data, "turn_id").String())
		}
	}
	return turns
}

// ofTurn returns the events of a turn.
func ofTurn(turn string, events []seen) (its []seen) {
	for _, e := range events {
		if gjson.Get(e.data, "turn_id").String() == turn {
			its = append(its, e)
		}
	}
	return its
}

// stuckStore starts no queued turn while it is stuck.
type stuckStore struct {
	sessions.Store
	stuck *atomic.Bool
	tried chan struct{} // gets a value for the first try
}

func (s stuckStore) StartTurn(ctx context.Context, c sessions.StartTurn) (sessions.AcceptedTurn, bool, error) {
	if !s.stuck.Load() {
		return s.Store.StartTurn(ctx, c)
	}
	select {
	case s.tried <- struct{}{}:
	default:
	}
	return sessions.AcceptedTurn{}, false, sessions.Errorf(sessions.CodeStoreUnavailable, "The store is stuck.")
}

// A turn that never ran is created and ends, and does nothing between.
func TestTheOnlyTurnIsWithdrawnFromTheQueue(t *testing.T) {
	for name, withdraw := range map[string]func(*story){
		"turn.cancelled": func(s *story) { s.cancel(s.id) },
		"turn.failed": func(s *story) {
			_, err := s.host.SessionClose(s.ctx(), &api.SessionCloseArgs{Address: s.address()})
			require.NoError(s.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			stuck, tried := &atomic.Bool{}, make(chan struct{}, 1)
			w := newFitted(t, everyState(), fitting{wrap: func(s sessions.Store) sessions.Store { return stuckStore{s, stuck, tried} }})
			s := w.tell(body(""))
			s.say("hang")
			s.hear("begin", named("turn.in_progress"))
			s.prompt("q", "later", sessions.BusyQueue)
			stuck.Store(true)
			s.cancel(s.id)
			<-tried
			withdraw(s)
			idle := 0
			all := s.hear("second end", func(e seen) bool {
				if e.name == "idle" {
					idle++
				}
				return idle == 2
			})
			requireWhole(t, all)
			require.Len(t, turnsOf(all), 2)
			var names []string
			for _, e := range ofTurn(turnsOf(all)[1], all) {
				names = append(names, e.name)
			}
			require.Equal(t, []string{"turn.created", name}, names)
			s.requireResumable(all)
		})
	}
}
