package agentsv1

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/host/api"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tools"
)

// listener follows a session as its events come.
type listener struct {
	*world
	mu   sync.Mutex
	told []seen
}

// listen begins to follow a session, behind an event or from now on.
func (w *world) listen(id, behind string) *listener {
	w.t.Helper()
	l := &listener{world: w}
	var header http.Header
	if behind != "" {
		header = http.Header{"Last-Event-Id": {behind}}
	}
	response := w.plain("GET", "/v1/agents/sessions/"+id+"/events", "", header)
	require.Equal(w.t, 200, response.StatusCode)
	var group sync.WaitGroup
	w.t.Cleanup(func() {
		_ = response.Body.Close()
		group.Wait()
	})
	group.Go(func() {
		var e seen
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "id":
				e.id = value
			case "event":
				e.name = strings.TrimPrefix(value, "agent.session.")
			case "data":
				e.data = value
			case "":
				if e.data != "" {
					l.mu.Lock()
					l.told = append(l.told, e)
					l.mu.Unlock()
				}
				e = seen{}
			}
		}
	})
	return l
}

func (l *listener) events() []seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.told)
}

// until waits for the n-th event of a name, and returns all up to it.
func (l *listener) until(name string, n int) (told []seen) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		count := 0
		for i, e := range l.events() {
			if e.name == name {
				if count++; count == n {
					told = l.events()[:i+1]
				}
			}
		}
		return told != nil
	}, patience, 2*time.Millisecond, "%s", name)
	return told
}

// requireStory requires that what was told of a session as it happened is told again
// in the same way behind each of its events, and is what the lists have, in their order.
func (w *world) requireStory(id string, live []seen) {
	w.t.Helper()
	last := live[len(live)-1]
	for i, e := range live[:len(live)-1] {
		again := w.listen(id, e.id).until(last.name, countOf(live[i+1:], last.name))
		require.Equal(w.t, shapes(qualified(live[i+1:])), shapes(qualified(again)), "behind event %d, %s", i, e.name)
	}
	w.requireToldAsListed(id, qualified(live))
	var told, listed []string
	for _, e := range live {
		item := gjson.Get(e.data, "item.id").String()
		if strings.HasPrefix(e.name, "turn.item.") && !slices.Contains(told, item) {
			told = append(told, item)
		}
	}
	for _, item := range w.items(id) {
		listed = append(listed, item.ID)
	}
	require.Equal(w.t, listed, told, "in the order of the list")
}

func countOf(events []seen, name string) (n int) {
	for _, e := range events {
		if e.name == name {
			n++
		}
	}
	return n
}

// qualified has the events under their whole names.
func qualified(events []seen) []seen {
	all := slices.Clone(events)
	for i := range all {
		all[i].name = "agent.session." + all[i].name
	}
	return all
}

func textsOf(w *world, id string) (all []string) {
	for _, item := range w.items(id) {
		all = append(all, item.Type+":"+item.Status+":"+gjson.Get(item.RawJSON(), "content.0.text").String())
	}
	return all
}

// idle makes a session that nobody has said anything to, and listens to it.
func (w *world) quiet() (string, *listener) {
	w.t.Helper()
	made, err := w.sessions().New(w.ctx(), body(""))
	require.NoError(w.t, err)
	return made.ID, w.listen(made.ID, "")
}

func TestTheStoryOfARetry(t *testing.T) {
	w := newWorld(t, scripted.New(scripted.Step{Text: "look", Calls: []scripted.Call{calling("/builtin/echo", `{"text":"x"}`)}},
		scripted.Step{Deltas: []scripted.Delta{{Text: "ha"}, {Text: "lf"}}, Fail: "broken"},
		scripted.Step{Fail: "broken again"},
		scripted.Step{Deltas: []scripted.Delta{{Text: "who"}, {Text: "le"}}, Calls: []scripted.Call{calling("/builtin/echo", `{"text":"y"}`)}},
		scripted.Step{Text: "done"}))
	id, live := w.quiet()
	w.send(id, message(textPart("hi")), 202)
	live.until("failed", 1)
	for i := range 2 {
		_, err := w.host.Retry(t.Context(), &api.RetryArgs{Address: address(id), Wait: api.WaitAccepted}, nil)
		require.NoError(t, err)
		live.until([]string{"failed", "idle"}[i], 2-i)
	}
	require.Equal(t, []string{"message:completed:hi", "message:completed:look", "mcp_call:completed:", "message:incomplete:half",
		"message:completed:whole", "mcp_call:completed:", "message:completed:done"}, textsOf(w, id))
	w.requireStory(id, live.events())
	turns := w.listed("/" + id + "/turns?order=asc")
	require.Len(t, turns, 3)
	for i, want := range [][2]any{{"failed", 4}, {"failed", 0}, {"completed", 3}} {
		require.Equal(t, want[0], turns[i].Get("status").String())
		require.Len(t, w.requirePages(id+"/turns/"+turns[i].Get("id").String()+"/items", 1, 2), want[1].(int))
	}
}

func TestTheStoryOfMessagesToASessionAtWork(t *testing.T) {
	gate := make(chan struct{})
	model := &counted{Oracle: scripted.New(scripted.Step{Text: "look", Calls: []scripted.Call{calling("/builtin/echo", `{"text":"x"}`)}, Gate: gate},
		scripted.Step{Text: "read both"}, scripted.Step{Text: "third"}, scripted.Step{Text: "fourth"})}
	w := newWorld(t, model)
	id, live := w.quiet()
	w.send(id, message(textPart("one")), 202)
	require.Eventually(t, func() bool { return model.calls.Load() == 1 }, patience, time.Millisecond, "what comes now is for the second call")
	for _, text := range []string{"three", "four"} {
		_, err := w.host.Prompt(t.Context(), &api.PromptArgs{Address: address(id), Text: text, Busy: sessions.BusyQueue, Wait: api.WaitAccepted}, nil)
		require.NoError(t, err)
	}
	w.send(id, message(textPart("two")), 202)
	require.Len(t, w.listed("/"+id+"/turns"), 3)
	close(gate)
	live.until("idle", 3)
	require.Equal(t, []string{"message:completed:one", "message:completed:look", "mcp_call:completed:", "message:completed:two",
		"message:completed:read both", "message:completed:three", "message:completed:third", "message:completed:four",
		"message:completed:fourth"}, textsOf(w, id))
	w.requireStory(id, live.events())
}

func TestTheStoryOfACancelAndAMessage(t *testing.T) {
	w := newWorld(t, scripted.New(scripted.Step{Text: "so", Hang: true}, scripted.Step{Text: "instead"}))
	id, live := w.quiet()
	w.send(id, message(textPart("one")), 202)
	live.until("turn.output_text.delta", 1)
	w.send(id, `{"type":"agent.session.input.cancel"},`+message(textPart("two")), 202)
	live.until("turn.completed", 1)
	live.until("idle", 2)
	require.Equal(t, []string{"message:completed:one", "message:incomplete:so", "message:completed:two", "message:completed:instead"}, textsOf(w, id))
	w.requireStory(id, live.events())
}

func TestTheStoryOfASummary(t *testing.T) {
	w := newWorld(t, scripted.New(scripted.Step{Text: "one"}, scripted.Step{Text: "two"},
		scripted.Step{Text: "Well, ", Overflow: true}, scripted.Step{Text: "They met."}, scripted.Step{Text: "Yes."}))
	id, live := w.quiet()
	for i, text := range []string{"first", "second", "third"} {
		w.send(id, message(textPart(text)), 202)
		live.until("idle", i+1)
	}
	require.Equal(t, []string{"message:completed:first", "message:completed:one", "message:completed:second", "message:completed:two",
		"message:completed:third", "message:completed:Yes."}, textsOf(w, id))
	w.requireStory(id, live.events())
}

// A turn that a stop of the host has cut goes on in the next one, and so does who
// follows it.
func TestTheStoryOfARestart(t *testing.T) {
	steps := func(second scripted.Step) oracle.Oracle {
		return scripted.Play(scripted.Script{Rules: []scripted.Rule{{Steps: []scripted.Step{
			{Text: "look", Calls: []scripted.Call{calling("/builtin/echo", `{"text":"x"}`)}}, second}}}})
	}
	w := newWorld(t, steps(scripted.Step{Text: "half", Hang: true}))
	id, live := w.quiet()
	w.send(id, message(textPart("hi")), 202)
	live.until("turn.output_text.delta", 2)
	w.stop()
	before := live.events()
	w.open(steps(scripted.Step{Text: "half of it"}))
	after := w.listen(id, before[len(before)-1].id).until("idle", 1)
	require.Equal(t, []string{"message:completed:hi", "message:completed:look", "mcp_call:completed:", "message:completed:half of it"}, textsOf(w, id))
	whole := slices.Concat(before, after)
	require.Equal(t, []string{"turn.output_text.done", "turn.content_part.done", "turn.item.done", "turn.completed", "idle"}, namesWithout(after, "turn.output_text.delta"))
	var text string
	for _, e := range whole {
		text += gjson.Get(e.data, "delta").String()
	}
	require.Equal(t, "lookhalf of it", text)
	w.requireStory(id, whole)
}

func namesWithout(events []seen, without string) (names []string) {
	for _, e := range events {
		if e.name != without {
			names = append(names, e.name)
		}
	}
	return names
}

// A fork has items of its own from its beginning, and events of what happens to it.
func TestTheStoryOfAFork(t *testing.T) {
	w := newWorld(t, scripted.New(scripted.Step{Text: "look", Calls: []scripted.Call{calling("/builtin/echo", `{"text":"x"}`)}},
		scripted.Step{Text: "done"}, scripted.Step{Deltas: []scripted.Delta{{Text: "on"}, {Text: "ward"}}}))
	id, live := w.quiet()
	w.send(id, message(textPart("hi")), 202)
	live.until("idle", 1)
	forked, err := w.host.SessionFork(t.Context(), &api.SessionForkArgs{Address: address(id)})
	require.NoError(t, err)
	fork := string(forked.Session.ID)
	copied := w.items(fork)
	require.Len(t, copied, 4)
	follows := w.listen(fork, "")
	w.send(fork, message(textPart("go on")), 202)
	told := follows.until("idle", 1)
	again := w.listen(fork, told[0].id).until("idle", 1)
	require.Equal(t, shapes(qualified(told[1:])), shapes(qualified(again)))
	now := w.items(fork)
	require.Len(t, now, 6)
	for i, item := range copied {
		require.JSONEq(t, item.RawJSON(), now[i].RawJSON())
	}
	var last []string
	for _, e := range told {
		if e.name == "turn.item.added" {
			last = append(last, gjson.Get(e.data, "item.id").String())
		}
	}
	require.Equal(t, []string{now[4].ID, now[5].ID}, last)
	require.Len(t, w.items(id), 4)
	require.Len(t, live.events(), len(live.until("idle", 1)), "the session that was forked hears nothing of it")
}

// Every end of a step whose calls wait is told and listed alike.
func TestTheStoryOfCallsThatAreNotAnswered(t *testing.T) {
	w := atDesk(t, scripted.New(scripted.Step{Text: "look", Calls: []scripted.Call{calling("/desk/look", `{}`), calling("/desk/look", `{}`)}},
		scripted.Step{Text: "well", Calls: []scripted.Call{calling("/desk/look", `[]`)}}, scripted.Step{Text: "done"}), nil)
	id, live := w.quiet()
	w.send(id, message(textPart("hi")), 202)
	live.until("requires_action", 1)
	require.NoError(t, w.give(id, w.until(id, "requires_action").RequiredActions[0], true, "x"))
	w.cancel(id)
	live.until("idle", 1)
	w.send(id, message(textPart("again")), 202)
	live.until("idle", 2)
	kinds := []string{}
	for _, item := range w.items(id) {
		kinds = append(kinds, item.Type+":"+item.Status)
	}
	require.Equal(t, []string{"message:completed", "message:completed", "function_call:completed", "function_call:completed",
		"function_call_output:completed", "function_call_output:failed", "message:completed", "message:completed",
		"function_call:completed", "function_call_output:failed", "message:completed"}, kinds)
	w.requireStory(id, live.events())
}

// What a host's tool gives while another still runs is told at once.
func TestTheStoryOfCallsOfOneStep(t *testing.T) {
	release := make(chan struct{})
	slow, err := tools.Func("Takes its time.", func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return "done", ctx.Err()
	})
	require.NoError(t, err)
	tree := &tools.Tree{}
	require.NoError(t, tree.Mount("/slow", slow))
	require.NoError(t, tools.MountBuiltins(tree, time.Now))
	w := atDesk(t, scripted.New(scripted.Step{Calls: []scripted.Call{calling("/slow", `{}`), calling("/builtin/echo", `{"text":"x"}`), calling("/slow/nobody", `{}`)}},
		scripted.Step{Text: "done"}), tree)
	id, live := w.quiet()
	w.send(id, message(textPart("hi")), 202)
	live.until("turn.item.done", 1)
	close(release)
	live.until("idle", 1)
	w.requireStory(id, live.events())
}

// A prompt that is withdrawn before it has started is told of beside the turn that runs.
func TestTheStoryOfAPromptThatIsWithdrawn(t *testing.T) {
	gate := make(chan struct{})
	w := newWorld(t, scripted.New(scripted.Step{Text: "look", Calls: []scripted.Call{calling("/builtin/echo", `{"text":"x"}`)}, Gate: gate},
		scripted.Step{Text: "done"}))
	id, live := w.quiet()
	w.send(id, message(textPart("one")), 202)
	live.until("turn.in_progress", 1)
	_, err := w.host.Prompt(t.Context(), &api.PromptArgs{Address: address(id), Text: "two", RequestID: "r2", Busy: sessions.BusyQueue, Wait: api.WaitAccepted}, nil)
	require.NoError(t, err)
	_, err = w.host.Cancel(t.Context(), &api.CancelArgs{Address: address(id), RequestID: "r2"})
	require.NoError(t, err)
	live.until("turn.cancelled", 1)
	close(gate)
	told := live.until("idle", 1)
	require.Equal(t, []string{"turn.created", "turn.item.added", "in_progress", "turn.in_progress", "turn.created", "turn.cancelled",
		"turn.item.added", "turn.content_part.added", "turn.output_text.done", "turn.content_part.done", "turn.item.done",
		"turn.item.added", "turn.item.done", "turn.item.added", "turn.content_part.added", "turn.output_text.done", "turn.content_part.done",
		"turn.item.done", "turn.completed", "idle"}, namesWithout(told, "turn.output_text.delta"))
	w.requireStory(id, told)
	turns := w.listed("/" + id + "/turns")
	require.Len(t, turns, 2)
	require.Equal(t, "cancelled", turns[0].Get("status").String())
	require.Empty(t, w.itemPage(id+"/turns/"+turns[0].Get("id").String()+"/items", "").Data)
}

// A call that is not allowed ends its turn, and those beside it with it.
func TestTheStoryOfACallThatIsNotAllowed(t *testing.T) {
	w := newWorld(t, scripted.New(scripted.Step{Calls: []scripted.Call{calling("/builtin/echo", `{"text":"x"}`), calling("/elsewhere", `{}`)}}))
	id, live := w.quiet()
	w.send(id, message(textPart("one")), 202)
	live.until("failed", 1)
	for _, item := range w.items(id)[1:] {
		require.Equal(t, "mcp_call", item.Type)
		require.Equal(t, "failed", item.Status)
	}
	w.requireStory(id, live.events())
}
