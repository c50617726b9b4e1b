package agentsv1

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// settle waits until every session is at rest, and answers what they wait for.
func (o *killedOwner) settle() {
	o.t.Helper()
	for _, s := range o.all() {
		if s.deleted {
			continue
		}
		require.Eventually(o.t, func() bool {
			got, err := o.sessionsAPI().Get(o.t.Context(), s.id)
			if err != nil {
				o.fault("%s: %v", s.id, why(err))
				return true
			}
			if got.Status == "requires_action" {
				o.give(s, got)
			}
			return settled(got)
		}, 2*patience, 10*time.Millisecond, "%s stays", s.id)
	}
}

// give answers the calls of a session once.
func (o *killedOwner) give(s *killedSession, got *openai.AgentSession) {
	if len(got.RequiredActions) == 0 {
		o.fault("%s requires an action and names none", s.id)
	}
	for _, action := range got.RequiredActions {
		call := action.AsFunctionCall()
		err := o.sessionsAPI().Events.New(o.t.Context(), s.id, openai.BetaAgentSessionEventNewParams{Events: []openai.AgentSessionInputParamUnion{{
			OfParamAgentSessionInputToolResult: &openai.AgentSessionInputParamAgentSessionInputToolResult{CallID: call.CallID, TurnID: call.TurnID,
				Success: true, Output: openai.AgentFunctionCallOutputParamUnion{OfString: openai.String(killsMark)}}}}})
		if err != nil {
			o.fault("the last result for %s: %v", s.id, why(err))
		}
	}
}

// requireStreams requires of each stream, over all its cuts, that it has what the
// session tells from its first event on, and ends with the session's status.
func (o *killedOwner) requireStreams(ctx context.Context) {
	o.t.Helper()
	for _, s := range o.all() {
		for _, f := range s.followers {
			if s.deleted {
				require.Eventually(o.t, f.isGone, patience, 5*time.Millisecond, "a stream of a deleted session goes on")
				continue
			}
			got, err := o.sessionsAPI().Get(ctx, s.id)
			require.NoError(o.t, err)
			whole := o.replayed(ctx, f.first, string(got.Status))
			if len(whole) == 0 {
				continue
			}
			end := whole[len(whole)-1]
			if !within(func() bool { return f.last().id == end.id }) {
				o.fault("a stream of %s does not come to its end: it is at %v, the end is %v", s.id, f.last(), end)
				continue
			}
			f.mu.Lock()
			events, cuts := slices.Clone(f.events[1:]), f.cuts
			f.mu.Unlock()
			o.count("streams")
			o.compare(s, events, whole, cuts)
		}
	}
}

func within(fact func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if fact() {
			return true
		}
	}
	return false
}

// replayed reads what a session tells behind its first event, up to its last status.
func (o *killedOwner) replayed(ctx context.Context, first seen, status string) (all []seen) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := gjson.Get(first.data, "session.id").String()
	turns, err := o.sessionsAPI().Turns.List(ctx, id, openai.BetaAgentSessionTurnListParams{Limit: openai.Int(100)})
	require.NoError(o.t, err)
	ends := 0
	response, err := o.request(ctx, "GET", "/v1/agents/sessions/"+id+"/events", "", first.id, "")
	require.NoError(o.t, err)
	defer response.Body.Close()
	require.Equal(o.t, 200, response.StatusCode)
	for e := range eventsIn(response.Body) {
		all = append(all, e)
		if gjson.Get(e.data, "usage").Exists() {
			ends++
		}
		if ends == len(turns.Data) && statusEvent(e) && gjson.Get(e.data, "session.status").String() == status {
			return all
		}
	}
	o.fault("%s: a replay ends at %v after %d of %d turns, the session is %s", id, names(all), ends, len(turns.Data), status)
	return nil
}

// compare requires that events that have come with cuts are those of a replay, but
// for what a cut has left of a text that was given up.
func (o *killedOwner) compare(s *killedSession, events, whole []seen, cuts int) {
	given := withoutGivenUp(events, whole)
	if len(given) != len(events) {
		o.count("texts that were given up")
	}
	if got, want := shapes(given), shapes(whole); !slices.Equal(got, want) {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		near := func(all []string) string { return strings.Join(all[max(at-4, 0):min(at+6, len(all))], "\n  ") }
		o.fault("%s, after %d cuts, has\n  %s\nand the replay\n  %s", s.id, cuts, near(got), near(want))
	}
	o.compareTexts(s, events)
}

// withoutGivenUp leaves out the texts that ended incomplete and that a replay does not
// know: a kill has taken them before they were durable.
func withoutGivenUp(events, whole []seen) (rest []seen) {
	incomplete := func(e seen) bool {
		return strings.HasSuffix(e.name, "item.done") && gjson.Get(e.data, "item.status").String() == "incomplete"
	}
	kept := map[string]bool{}
	for _, e := range whole {
		if incomplete(e) {
			kept[itemOf(e)] = true
		}
	}
	begun := map[string]int{} // where the text of an item begins in rest
	for _, e := range events {
		if strings.HasSuffix(e.name, "item.added") {
			begun[itemOf(e)] = len(rest)
		}
		rest = append(rest, e)
		if incomplete(e) && !kept[itemOf(e)] {
			from := begun[itemOf(e)]
			rest = append(rest[:from], slices.DeleteFunc(slices.Clone(rest[from:]), func(r seen) bool { return itemOf(r) == itemOf(e) })...)
		}
	}
	return rest
}

func itemOf(e seen) string {
	return gjson.Get(e.data, "item.id").String() + gjson.Get(e.data, "item_id").String()
}

// compareTexts requires that the pieces of each text come to the whole.
func (o *killedOwner) compareTexts(s *killedSession, events []seen) {
	texts := map[string]string{}
	for _, e := range events {
		switch e.name {
		case "agent.session.turn.output_text.delta":
			texts[itemOf(e)] += gjson.Get(e.data, "delta").String()
		case "agent.session.turn.output_text.done":
			if done := gjson.Get(e.data, "text").String(); texts[itemOf(e)] != done && !strings.HasPrefix(texts[itemOf(e)], done) {
				o.fault("%s has the text %q in pieces, and %q at the end", s.id, texts[itemOf(e)], done)
			}
			if done := gjson.Get(e.data, "text").String(); texts[itemOf(e)] != done {
				o.count("texts cut short")
			}
			delete(texts, itemOf(e))
		}
	}
	if len(texts) > 0 {
		o.fault("%s has texts without an end: %v", s.id, texts)
	}
}

// requireAll requires that each session has what its clients were told, once.
func (o *killedOwner) requireAll() {
	o.t.Helper()
	ctx := o.t.Context()
	living := map[string]bool{}
	for _, s := range o.all() {
		got, err := o.sessionsAPI().Get(ctx, s.id)
		if s.deleted {
			if status(err) != 404 {
				o.fault("deleted %s: %v", s.id, why(err))
			}
			again, err := o.sessionsAPI().Delete(ctx, s.id)
			if err != nil || !again.Deleted {
				o.fault("a repeated delete of %s: %v", s.id, why(err))
			}
			continue
		}
		if err != nil {
			o.fault("%s is lost: %v", s.id, why(err))
			continue
		}
		living[s.id] = true
		if got.Metadata["text"] != s.metadata {
			o.fault("%s has metadata %v, not %s", s.id, got.Metadata, s.metadata)
		}
		o.requireHistory(s, got)
	}
	listed := map[string]bool{}
	for pager := o.sessionsAPI().ListAutoPaging(ctx, openai.BetaAgentSessionListParams{Limit: openai.Int(7)}); pager.Next(); {
		listed[pager.Current().ID] = true
	}
	for id := range living {
		if !listed[id] {
			o.fault("%s is not listed", id)
		}
	}
	for id, name := range o.agents {
		got, err := o.client.Beta.Agents.Get(ctx, id)
		if name == "" && status(err) != 404 || name != "" && (err != nil || got.Name != name) {
			o.fault("agent %s, %q: %v", id, name, why(err))
		}
	}
}

func (o *killedOwner) requireHistory(s *killedSession, got *openai.AgentSession) {
	ctx := o.t.Context()
	users, outputs, turns, items := map[string]int{}, map[string]int{}, map[string]bool{}, map[string]bool{}
	var tokens int64
	for pager := o.sessionsAPI().Turns.ListAutoPaging(ctx, s.id, openai.BetaAgentSessionTurnListParams{Limit: openai.Int(3)}); pager.Next(); {
		turn := pager.Current()
		if turns[turn.ID] {
			o.fault("turn %s is listed twice", turn.ID)
		}
		turns[turn.ID] = true
		tokens += turn.Usage.TotalTokens
		o.count("turn " + string(turn.Status))
		if turn.Error.Message != "" {
			o.count("turn failed: " + turn.Error.Message)
		}
	}
	if tokens != got.Usage.TotalTokens {
		o.fault("%s has used %d, its turns %d", s.id, got.Usage.TotalTokens, tokens)
	}
	if len(turns) > len(s.said) {
		o.fault("%s has %d turns of %d messages", s.id, len(turns), len(s.said))
	}
	for pager := o.sessionsAPI().Items.ListAutoPaging(ctx, s.id, openai.BetaAgentSessionItemListParams{Limit: openai.Int(5), Order: "asc"}); pager.Next(); {
		item := pager.Current()
		if items[item.ID] {
			o.fault("item %s is listed twice", item.ID)
		}
		items[item.ID] = true
		raw := item.RawJSON()
		if turn := gjson.Get(raw, "turn_id").String(); !turns[turn] {
			o.fault("item %s of %s is of no turn: %s", item.ID, s.id, raw)
		}
		for _, m := range s.said {
			if item.Type == "message" && item.Role == "user" {
				users[m.token] += strings.Count(raw, m.token)
			}
		}
		for token := range s.results {
			if item.Type == "function_call_output" {
				outputs[token] += strings.Count(raw, token)
			}
		}
	}
	for _, m := range s.said {
		n := users[m.token]
		if n > 1 || m.refused && n > 0 || m.told && !m.withdrawn && n != 1 {
			o.fault("message %s (%+v) is %d times in %s", m.token, *m, n, s.id)
		}
	}
	for token, taken := range s.results {
		if n := outputs[token]; taken && n != 1 || !taken && n != 0 {
			o.fault("result %s (taken %t) is %d times in %s", token, taken, n, s.id)
		}
	}
}

// removeAll deletes all that the owner has.
func (o *killedOwner) removeAll() {
	o.t.Helper()
	ctx := o.t.Context()
	for _, order := range []openai.BetaAgentSessionListParamsOrder{"asc", "desc"} {
		for pager := o.sessionsAPI().ListAutoPaging(ctx, openai.BetaAgentSessionListParams{Limit: openai.Int(10), Order: order}); pager.Next(); {
			id := pager.Current().ID
			require.NoError(o.t, o.sessionsAPI().Events.New(ctx, id, cancelling()))
			require.Eventually(o.t, func() bool {
				_, err := o.sessionsAPI().Delete(ctx, id, option.WithMaxRetries(0))
				return err == nil
			}, patience, 5*time.Millisecond)
		}
	}
	for id := range o.agents {
		_, err := o.client.Beta.Agents.Delete(ctx, id)
		require.NoError(o.t, err)
	}
	rest, err := o.sessionsAPI().List(ctx, openai.BetaAgentSessionListParams{})
	require.NoError(o.t, err)
	require.Empty(o.t, rest.Data)
}
