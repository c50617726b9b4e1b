package agentsv1

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

// walk drives one host through both doors by chance.
type walk struct {
	*twoDoors
	chance *rand.Rand
	live   []string // sessions
	gone   []string // those that were deleted
	parent map[string]string
	words  int // how many texts were said
	said   map[string][]utterance
}

// utterance is a text that was said to a session.
type utterance struct {
	text     string
	accepted bool
	again    func() error // makes the same request once more
}

const walkSteps = 60

var walks = flag.Int("walks", 5, "how many walks through both doors to take")

// Whatever is done through either door in whatever order, both show the same
// sessions after each step, and no text is ever said twice.
func TestBothDoorsAgreeOnAWalkByChance(t *testing.T) {
	for seed := range uint64(*walks) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := &walk{twoDoors: newTwoDoors(t, talker(), careful), chance: rand.New(rand.NewPCG(seed, 7)), parent: map[string]string{}, said: map[string][]utterance{}}
			for i := range walkSteps {
				step := steps[w.chance.IntN(len(steps))]
				id := w.somewhere()
				t.Logf("%d: %s of %s", i, step.name, id)
				step.take(w, id)
				for _, seen := range []string{id, w.somewhere()} {
					if slices.Contains(w.live, seen) {
						w.agree(seen)
					}
				}
				w.agreeOnList()
			}
			for _, id := range w.live {
				w.requireSaidOnce(id)
				w.agree(id)
			}
			for _, id := range w.gone {
				w.agreeOnAbsence(id)
			}
		})
	}
}

// somewhere is a session by chance, a new one when there is none.
func (w *walk) somewhere() string {
	if len(w.live) == 0 {
		w.live = append(w.live, w.made("", "idle"))
	}
	return w.live[w.chance.IntN(len(w.live))]
}

func (w *walk) coin() bool { return w.chance.IntN(2) == 0 }

// text is a new text to say, which brings its session to some state.
func (w *walk) text() string {
	w.words++
	kinds := []string{"hello", "hello", "echo", "fail", "hang", "ask", "ask", "leave"}
	return fmt.Sprintf("%s number %d.", kinds[w.chance.IntN(len(kinds))], w.words)
}

// remember notes what was said, and whether it was taken. The doors may refuse it
// for what the session is doing, and for nothing else.
func (w *walk) remember(id, text string, send func() error) {
	w.t.Helper()
	err := send()
	w.requireRefusal(err)
	w.said[id] = append(w.said[id], utterance{text, err == nil, send})
}

// requireRefusal requires that an error, if there is one, is about the state of a
// session.
func (w *walk) requireRefusal(err error) {
	w.t.Helper()
	refused, ok := errors.AsType[*openai.Error](err)
	switch {
	case err == nil:
	case ok:
		require.Equal(w.t, 409, refused.StatusCode, refused.Error())
	default:
		require.Contains(w.t, []sessions.Code{sessions.CodeAgentBusy, sessions.CodeSessionClosed, sessions.CodeConflict}, sessions.CodeOf(err), err.Error())
	}
}

// requireSaidOnce requires that no text has entered the history twice, and none that
// was refused.
func (w *walk) requireSaidOnce(id string) {
	w.t.Helper()
	var users strings.Builder
	for _, m := range w.agree(id).messages {
		if m.Role == sessions.RoleUser {
			users.WriteString(sessions.TextOf(m.Content))
		}
	}
	for _, u := range w.said[id] {
		n := strings.Count(users.String(), u.text)
		require.LessOrEqual(w.t, n, 1, u.text)
		if !u.accepted {
			require.Zero(w.t, n, u.text)
		}
	}
}

// lose forgets a session that was deleted, and all below it, which went with it.
func (w *walk) lose(id string) {
	w.live = slices.DeleteFunc(w.live, func(other string) bool {
		for at := other; at != ""; at = w.parent[at] {
			if at == id {
				w.gone = append(w.gone, other)
				return true
			}
		}
		return false
	})
}

// steps are what can be done.
var steps = []struct {
	name string
	take func(w *walk, id string)
}{
	{"create by agents", func(w *walk, _ string) {
		text := w.text()
		key := option.WithHeader("Idempotency-Key", text)
		made, err := w.sessions().New(w.ctx(), asking(text), key)
		require.NoError(w.t, err)
		w.live = append(w.live, made.ID)
		w.said[made.ID] = append(w.said[made.ID], utterance{text, true, func() error {
			again, err := w.sessions().New(w.ctx(), asking(text), key)
			if err == nil {
				require.Equal(w.t, made.ID, again.ID)
			}
			return err
		}})
	}},
	{"create by $", func(w *walk, _ string) {
		args := api.SessionCreateArgs{Labels: map[string]string{"n": fmt.Sprint(w.words)}}
		if w.coin() {
			args.TargetKey = fmt.Sprint("order-", w.chance.IntN(5))
		}
		made, err := w.dollar.SessionCreate(w.ctx(), args)
		require.NoError(w.t, err)
		if made.Created {
			w.live = append(w.live, string(made.Session.ID))
		}
	}},
	{"create below by $", func(w *walk, id string) {
		made, err := w.dollar.SessionCreate(w.ctx(), api.SessionCreateArgs{ParentID: sessions.SessionID(id), ParentLocation: sessions.Local})
		require.NoError(w.t, err)
		w.live, w.parent[string(made.Session.ID)] = append(w.live, string(made.Session.ID)), id
	}},
	{"message by agents", (*walk).sayByAgents},
	{"message by agents", (*walk).sayByAgents},
	{"message by agents", (*walk).sayByAgents},
	{"prompt by $", (*walk).sayByDollar},
	{"prompt by $", (*walk).sayByDollar},
	{"prompt by $", (*walk).sayByDollar},
	{"the same again", (*walk).repeat},
	{"cancel by agents", func(w *walk, id string) { w.cancel(id) }},
	{"cancel by $", func(w *walk, id string) {
		_, err := w.dollar.Cancel(w.ctx(), api.CancelArgs{Address: address(id)})
		require.NoError(w.t, err)
	}},
	{"answer by agents", func(w *walk, id string) {
		for _, p := range w.agree(id).session.Pending {
			text := `"output":"rain"`
			if w.coin() {
				text = `"error":"no sky"`
			}
			result := fmt.Sprintf(`{"type":"agent.session.input.tool_result","call_id":%q,"turn_id":%q,"success":%t,%s}`,
				p.CallID, w.stored(id).ActiveTurn.TurnID, strings.Contains(text, "rain"), text)
			response := w.plain("POST", "/v1/agents/sessions/"+id+"/events", `{"events":[`+result+`]}`, nil)
			require.Equal(w.t, 202, response.StatusCode, textOf(w.world, response))
		}
	}},
	{"answer by $", func(w *walk, id string) {
		for _, p := range w.agree(id).session.Pending {
			args := api.AnswerArgs{Address: address(id), CallID: p.CallID}
			switch {
			case p.Kind == sessions.PendingApproval:
				args.Approve = new(w.coin())
			case w.coin():
				args.Output = json.RawMessage(`{"sky":["grey",1]}`)
			default:
				args.Error = new("no sky")
			}
			_, err := w.dollar.Answer(w.ctx(), args)
			require.NoError(w.t, err)
		}
	}},
	{"metadata by agents", func(w *walk, id string) {
		_, err := w.sessions().Update(w.ctx(), id, openai.BetaAgentSessionUpdateParams{Metadata: map[string]string{"by": "agents", "n": fmt.Sprint(w.words)}})
		require.NoError(w.t, err)
	}},
	{"labels by $", func(w *walk, id string) {
		_, err := w.dollar.SessionUpdate(w.ctx(), api.SessionUpdateArgs{Address: address(id), Title: new("t"), Labels: map[string]string{"by": "$"}})
		require.NoError(w.t, err)
	}},
	{"delete by agents", func(w *walk, id string) {
		_, err := w.sessions().Delete(w.ctx(), id)
		w.requireRefusal(err)
		if err == nil {
			w.lose(id)
		}
	}},
	{"delete by $", func(w *walk, id string) {
		args := api.SessionDeleteArgs{Address: address(id)}
		if w.coin() {
			args.IfBusy = api.IfBusyReject
		}
		_, err := w.dollar.SessionDelete(w.ctx(), args)
		w.requireRefusal(err)
		if err == nil {
			w.lose(id)
		}
	}},
	{"retry by $", func(w *walk, id string) {
		_, err := w.dollar.Retry(w.ctx(), api.RetryArgs{Address: address(id), Wait: api.WaitAccepted}, nil)
		w.requireRefusal(err)
	}},
	{"detach by $", func(w *walk, id string) {
		_, err := w.dollar.SessionDetach(w.ctx(), api.SessionDetachArgs{Address: address(id)})
		w.requireRefusal(err)
	}},
	{"close by $", func(w *walk, id string) {
		if w.chance.IntN(3) > 0 {
			return // a closed session has little to tell
		}
		_, err := w.dollar.SessionClose(w.ctx(), api.SessionCloseArgs{Address: address(id)})
		require.NoError(w.t, err)
	}},
	{"fork by $", func(w *walk, id string) {
		made, err := w.dollar.SessionFork(w.ctx(), api.SessionForkArgs{Address: address(id)})
		require.NoError(w.t, err)
		w.live = append(w.live, string(made.Session.ID))
		w.agree(string(made.Session.ID))
	}},
	{"seed by $", func(w *walk, id string) {
		_, err := w.dollar.SessionSeed(w.ctx(), api.SessionSeedArgs{Address: address(id), Messages: []api.SeedMessage{
			{Role: sessions.RoleUser, Content: sessions.Text("seeded")}, {Role: sessions.RoleAssistant, Content: sessions.Text("grown")}}})
		w.requireRefusal(err)
	}},
	{"restart", func(w *walk, _ string) {
		if w.chance.IntN(3) > 0 {
			return
		}
		w.stop()
		w.open(talker())
		w.dial()
	}},
}

func (w *walk) sayByAgents(id string) {
	text := w.text()
	params := saying(text, text)
	if w.chance.IntN(4) == 0 { // in the place of what is under way
		params.Events = append(cancelling().Events, params.Events...)
	}
	w.remember(id, text, func() error { return w.sessions().Events.New(w.ctx(), id, params) })
}

func (w *walk) sayByDollar(id string) {
	text := w.text()
	args := api.PromptArgs{Address: address(id), Text: text, RequestID: sessions.RequestID(text), ClientTools: looking, Wait: api.WaitAccepted,
		Busy: []sessions.BusyPolicy{sessions.BusyReject, sessions.BusyQueue, sessions.BusySteer, sessions.BusyInterrupt}[w.chance.IntN(4)]}
	w.remember(id, text, func() error {
		_, err := w.dollar.Prompt(w.ctx(), args, nil)
		return err
	})
}

// repeat makes a request again that was made before. What was taken is so still, and
// what was said to a session that is gone is refused.
func (w *walk) repeat(string) {
	ids := slices.Sorted(func(yield func(string) bool) {
		for id := range w.said {
			if !yield(id) {
				return
			}
		}
	})
	if len(ids) == 0 {
		return
	}
	id := ids[w.chance.IntN(len(ids))]
	u := &w.said[id][w.chance.IntN(len(w.said[id]))]
	err := u.again()
	refused, byAgents := errors.AsType[*openai.Error](err)
	switch {
	case slices.Contains(w.live, id):
		if u.accepted {
			require.NoError(w.t, err)
		}
		w.requireRefusal(err)
		u.accepted = u.accepted || err == nil
		w.requireSaidOnce(id)
	case byAgents && u.accepted:
		require.Equal(w.t, "idempotency_conflict", refused.Code, u.text)
	case byAgents:
		require.Contains(w.t, []int{404, 409}, refused.StatusCode)
	case u.accepted:
		require.Equal(w.t, sessions.CodeSessionDeleted, sessions.CodeOf(err), u.text)
	default:
		require.Contains(w.t, []sessions.Code{sessions.CodeSessionNotFound, sessions.CodeSessionDeleted}, sessions.CodeOf(err), u.text)
	}
}
