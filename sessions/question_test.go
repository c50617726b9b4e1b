package sessions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
)

func TestCheckQuestion(t *testing.T) {
	limits := sessions.Limits{MessageBytes: 5}
	for question, code := range map[string]sessions.Code{
		"why?": "", "why??": "",
		"":       sessions.CodeInvalidRequest,
		" \n\t":  sessions.CodeInvalidRequest,
		"a\xff":  sessions.CodeInvalidRequest,
		"why???": sessions.CodePayloadTooLarge,
	} {
		err := sessions.CheckQuestion("/args/question", question, limits)
		require.Equal(t, code, sessions.CodeOf(err), "%q", question)
		if err != nil {
			require.Equal(t, "/args/question", sessions.AsError(err).Details["field"])
		}
	}
}
