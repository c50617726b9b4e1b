package oracle

import (
	"errors"
	"fmt"

	"agenthost/sessions"
)

// ErrOverflow is in the chain of the error of a call whose request the model's
// context window does not take: the same request would be refused again, and a
// shorter one may do.
var ErrOverflow = errors.New("the request is longer than the model's context window")

// Overflow returns the LLM_API_FAILURE of such a call. text is what the provider
// wrote, for the log.
func Overflow(text string) *sessions.Error {
	return sessions.Errorf(sessions.CodeLLMAPIFailure,
		"The request is longer than the context window of the model; send less, or use a model with a larger one.").
		Because(fmt.Errorf("%w: %s", ErrOverflow, text))
}
