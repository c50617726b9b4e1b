package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"agenthost/sessions"
)

// maxErrorText is how much of a provider's error, in bytes, reaches the log.
const maxErrorText = 4096

// statusError is a response that is no answer.
type statusError struct {
	status int
	header http.Header
	body   string
}

// Error gives the status and what the provider wrote.
func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.body) }

// passing reports whether another try may fare better.
func (e *statusError) passing() bool {
	switch e.status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return e.status >= http.StatusInternalServerError
	}
}

// refuseStatus turns responses without an answer into a statusError. The SDK
// would do so only for bodies of JSON, and would read them without bound.
func refuseStatus(request *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	response, err := next(request)
	if err != nil || response.StatusCode < http.StatusMultipleChoices {
		return response, err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorText)) // what came of it is enough for a log
	return nil, &statusError{status: response.StatusCode, header: response.Header, body: string(body)}
}

// failure is what the caller learns of err. The provider's words are its cause
// only, without the key, which providers like to quote.
func (o *Oracle) failure(err error) error {
	text := err.Error()
	if key := o.config.APIKey; key != "" {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	text = strings.ToValidUTF8(text[:min(len(text), maxErrorText)], "")
	failed := sessions.Errorf(sessions.CodeLLMAPIFailure, "The model call failed; try again later.")
	if status, ok := errors.AsType[*statusError](err); ok {
		failed = failed.With("status", status.status)
		if !status.passing() {
			failed.Message = "The provider of the model refused the call; the host's log has its reason."
		}
	}
	return failed.Because(errors.New(text))
}
