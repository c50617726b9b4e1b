package provider

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"agenthost/oracle"
	"agenthost/sessions"
)

// Why a stream that began well is no answer.
var (
	// ErrBroken is for a stream that ended before its answer did.
	ErrBroken   = errors.New("the stream ended before the answer did")
	errFull     = errors.New("the answer had no room in the context window")
	errEmpty    = errors.New("the answer is empty")
	errTooLarge = fmt.Errorf("the tool calls of the answer take more than %d bytes", maxCallBytes)
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

// RefuseStatus is a middleware that turns responses without an answer into
// errors that Infer knows. An SDK would do so only for bodies of its form, and
// would read them without bound.
func RefuseStatus(request *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	response, err := next(request)
	if err != nil || response.StatusCode < http.StatusMultipleChoices {
		return response, err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorText)) // what came of it is enough for a log
	return nil, &statusError{status: response.StatusCode, header: response.Header, body: string(body)}
}

// Failure is what the caller learns of err: LLM_API_FAILURE. The provider's
// words are its cause only, without the key, which providers like to quote.
func (c Caller) Failure(err error) error {
	text := err.Error()
	if c.Key != "" {
		text = strings.ReplaceAll(text, c.Key, "[key]")
	}
	text = strings.ToValidUTF8(text[:min(len(text), maxErrorText)], "")
	if errors.Is(err, oracle.ErrOverflow) {
		return oracle.Overflow(text)
	}
	failed := sessions.Errorf(sessions.CodeLLMAPIFailure, "The model call failed; try again later.")
	if status, ok := errors.AsType[*statusError](err); ok {
		failed = failed.With("status", status.status)
		if !status.passing() {
			failed.Message = "The provider of the model refused the call; the host's log has its reason."
		}
	}
	return failed.Because(errors.New(text))
}
