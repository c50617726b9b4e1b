package agentsv1

import (
	"context"
	"database/sql"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // opens the host's file beside the host

	"agenthost/host/api"
	"agenthost/oracle"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
	"agenthost/tests/rows"
)

// digest returns every row of every table of the host's file, as text.
func (w *world) digest() map[string][]string {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+w.file+"?mode=ro")
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, db.Close()) }()
	all := map[string][]string{}
	for _, table := range rows.Tables(w.t, db) {
		_, cells := rows.Of(w.t, db, table)
		for _, row := range cells {
			all[table] = append(all[table], strings.Join(row, "|"))
		}
	}
	return all
}

// everyState is an oracle that brings a session to each state by what is said.
func everyState() *scripted.Oracle {
	return scripted.Play(scripted.Script{Rules: []scripted.Rule{
		{When: "hang", Steps: []scripted.Step{{Hang: true}}},
		{When: "fail", Steps: []scripted.Step{{Fail: "broken"}}},
		{When: "ask", Steps: []scripted.Step{{Calls: []scripted.Call{{Path: "/functions/look", Args: `{}`}}}, {Text: "done"}}},
		{Steps: []scripted.Step{{Text: "ok"}}},
	}})
}

// counted is an oracle whose calls are counted as they begin.
type counted struct {
	oracle.Oracle
	calls atomic.Int64
}

func (c *counted) Infer(ctx context.Context, r oracle.Request) iter.Seq2[oracle.Part, error] {
	c.calls.Add(1)
	return c.Oracle.Infer(ctx, r)
}

func asking(input string) openai.BetaAgentSessionNewParams {
	p := body(input)
	p.Agent.Tools = []openai.AgentToolParamUnion{{OfParamFunction: &openai.AgentToolParamFunction{
		Name: "look", Description: "Looks.", Parameters: map[string]any{"type": "object"}}}}
	return p
}

func (w *world) made(input string, status openai.AgentSessionStatus) string {
	w.t.Helper()
	s, err := w.sessions().New(w.ctx(), asking(input))
	require.NoError(w.t, err)
	w.until(s.ID, status)
	return s.ID
}

// cancelling is an event with a cancel.
func cancelling() openai.BetaAgentSessionEventNewParams {
	return openai.BetaAgentSessionEventNewParams{Events: []openai.AgentSessionInputParamUnion{
		{OfParamAgentSessionInputCancel: &openai.AgentSessionInputParamAgentSessionInputCancel{}}}}
}

func (w *world) cancel(id string) {
	w.t.Helper()
	require.NoError(w.t, w.sessions().Events.New(w.ctx(), id, cancelling()))
}

// requireUnsettled requires that a session cannot be deleted, and that the attempt
// changes nothing at all.
func (w *world) requireUnsettled(id string) {
	w.t.Helper()
	before := w.digest()
	var refused *openai.Error
	_, err := w.sessions().Delete(w.ctx(), id)
	require.ErrorAs(w.t, err, &refused)
	require.Equal(w.t, 409, refused.StatusCode)
	require.Equal(w.t, "false", refused.Response.Header.Get("X-Should-Retry"))
	require.JSONEq(w.t, `{"message":"session must be durably idle or failed without required actions before deletion",
		"type":"conflict_error","code":"conflict_error","param":null}`, refused.RawJSON())
	require.Equal(w.t, before, w.digest())
}

// requireDeletable deletes a session, and requires that to do it again changes
// nothing.
func (w *world) requireDeletable(id string) {
	w.t.Helper()
	for i := range 3 {
		before := w.digest()
		gone, err := w.sessions().Delete(w.ctx(), id)
		require.NoError(w.t, err)
		require.JSONEq(w.t, `{"id":"`+id+`","object":"agent.session.deleted","deleted":true}`, gone.RawJSON())
		if i == 0 {
			require.NotEqual(w.t, before, w.digest())
		} else {
			require.Equal(w.t, before, w.digest(), "a repeat writes nothing")
		}
	}
}

func TestDeleteInEveryState(t *testing.T) {
	at := func(id string) api.Address { return api.Address{SessionID: sessions.SessionID(id)} }
	busy := map[string]func(*world, *counted) string{
		"in progress":     func(w *world, _ *counted) string { return w.made("hang", "in_progress") },
		"requires action": func(w *world, _ *counted) string { return w.made("ask", "requires_action") },
		"queued input": func(w *world, _ *counted) string {
			id := w.made("hang", "in_progress")
			_, err := w.host.Prompt(w.ctx(), &api.PromptArgs{Address: at(id), Text: "later", Busy: sessions.BusyQueue, Wait: api.WaitAccepted}, nil)
			require.NoError(w.t, err)
			return id
		},
		"steering input": func(w *world, model *counted) string {
			id := w.made("hang", "in_progress")
			// A turn takes in what waits for it before it asks its model.
			require.Eventually(w.t, func() bool { return model.calls.Load() > 0 }, patience, 5*time.Millisecond)
			_, err := w.host.Prompt(w.ctx(), &api.PromptArgs{Address: at(id), Text: "hang on", Busy: sessions.BusySteer, Wait: api.WaitAccepted}, nil)
			require.NoError(w.t, err)
			return id
		},
	}
	settled := map[string]func(*world) string{
		"never prompted": func(w *world) string { return w.made("", "idle") },
		"completed":      func(w *world) string { return w.made("hello", "idle") },
		"failed":         func(w *world) string { return w.made("fail", "failed") },
		"cancelled": func(w *world) string {
			id := w.made("hang", "in_progress")
			w.cancel(id)
			return id
		},
		"cancelled while it required action": func(w *world) string {
			id := w.made("ask", "requires_action")
			w.cancel(id)
			return id
		},
		"interrupted": func(w *world) string {
			id := w.made("hang", "in_progress")
			_, err := w.host.SessionDetach(w.ctx(), &api.SessionDetachArgs{Address: at(id)})
			require.NoError(w.t, err)
			return id
		},
	}
	for _, state := range slices.Sorted(maps.Keys(busy)) {
		t.Run(state, func(t *testing.T) {
			model := &counted{Oracle: everyState()}
			w := newWorld(t, model)
			id := busy[state](w, model)
			w.requireUnsettled(id)
		})
	}
	for _, state := range slices.Sorted(maps.Keys(settled)) {
		t.Run(state, func(t *testing.T) {
			w := newWorld(t, everyState())
			id := settled[state](w)
			w.requireDeletable(id)
			require.Empty(t, w.digest()["sessions"])
		})
	}
}

func TestDeleteAfterAClearAnswersAsMissing(t *testing.T) {
	w := newWorld(t, everyState())
	id := w.made("hello", "idle")
	_, err := w.sessions().Delete(w.ctx(), id)
	require.NoError(t, err)
	_, err = w.host.SessionClearAll(w.ctx(), &api.SessionClearAllArgs{})
	require.NoError(t, err)
	var missing *openai.Error
	_, err = w.sessions().Delete(w.ctx(), id)
	require.ErrorAs(t, err, &missing)
	require.Equal(t, 404, missing.StatusCode)
}
