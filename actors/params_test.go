package actors_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle/scripted"
	"agenthost/sessions"
)

func TestEveryModelCallHasTheParametersOfTheProfile(t *testing.T) {
	o := script(calls("/t/one"), text(`{"n":1}`))
	cool := 0.2
	params := sessions.Params{Temperature: &cool, MaxTokens: 9, Effort: "low"}
	schema := json.RawMessage(`{"type":"object"}`)
	w := world(t, o, mounts{"/t/one": output(`1`)}, func(p *actors.Profile) { p.Params, p.AnswerSchema = params, schema })
	require.Nil(t, w.Send(actortest.Key("a"), "work").Reply().Err)
	require.Len(t, o.Requests(), 2)
	for _, r := range o.Requests() {
		require.Equal(t, params, r.Params)
		require.Equal(t, schema, r.Schema)
	}
}

func TestProfilesWithParametersThatAreNone(t *testing.T) {
	hot := 3.0
	for field, p := range map[string]actors.Profile{
		"/profiles/default/params/temperature": {Oracle: script(), Params: sessions.Params{Temperature: &hot}},
		"/profiles/default/answerSchema":       {Oracle: script(), AnswerSchema: json.RawMessage(`[]`)},
	} {
		_, err := actors.New(nil, map[string]actors.Profile{sessions.DefaultProfile: p}, actors.Config{})
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		require.Equal(t, field, sessions.AsError(err).Details["field"])
	}
}

// What a prompt asks holds until its turn has ended, also under a host with
// another configuration, and in a retry.
func TestATurnAsksTheSameAfterARestart(t *testing.T) {
	cool, warm := 0.2, 1.0
	schema := json.RawMessage(`{ "type": "object" }`)
	asked := sessions.Inference{Params: sessions.Params{MaxTokens: 7}, AnswerSchema: schema}
	want := sessions.Params{Temperature: &cool, MaxTokens: 7}
	first := script(scripted.Step{Text: "half a", Hang: true})
	w := actortest.Open(t, profiles(first, func(p *actors.Profile) { p.Params.Temperature = &cool }), actortest.Config{})
	at := actortest.Key("a")
	call := w.Send(at, "work", actortest.As("r"), func(p *actors.Prompt) { p.Inference = asked })
	require.NoError(t, first.Await(t.Context(), 1))

	second := script(scripted.Step{Fail: "no"}, text("whole"))
	w = cutAndReopen(t, w, profiles(second, func(p *actors.Profile) { p.Params.Temperature = &warm }), nil)
	call.Failed(sessions.CodeHostStopping)
	require.Equal(t, sessions.CodeLLMAPIFailure, w.Send(at, "work", actortest.As("r"), func(p *actors.Prompt) { p.Inference = asked }).Reply().Err.Code)
	again := sessions.TurnID("")
	require.NotNil(t, w.Send(at, "", func(p *actors.Prompt) { p.Content, p.Retry = nil, &again }).Reply())
	require.Equal(t, "fine", w.Say(at, "other"))

	requests := append(first.Requests(), second.Requests()...)
	require.Len(t, requests, 4)
	for _, r := range requests[:3] {
		require.Equal(t, want, r.Params)
		require.Equal(t, `{"type":"object"}`, string(r.Schema))
	}
	require.Equal(t, sessions.Params{Temperature: &warm}, requests[3].Params, "the next turn asks for itself")
	require.Nil(t, requests[3].Schema)
}
