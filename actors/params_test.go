package actors_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/actortest"
	"agenthost/oracle"
	"agenthost/sessions"
)

func TestEveryModelCallHasTheParametersOfTheProfile(t *testing.T) {
	o := script(calls("/t/one"), text(`{"n":1}`))
	cool := 0.2
	params := oracle.Params{Temperature: &cool, MaxTokens: 9, Effort: "low"}
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
		"/profiles/default/params/temperature": {Oracle: script(), Params: oracle.Params{Temperature: &hot}},
		"/profiles/default/answerSchema":       {Oracle: script(), AnswerSchema: json.RawMessage(`[]`)},
	} {
		_, err := actors.New(nil, map[string]actors.Profile{sessions.DefaultProfile: p}, actors.Config{})
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
		require.Equal(t, field, sessions.AsError(err).Details["field"])
	}
}
