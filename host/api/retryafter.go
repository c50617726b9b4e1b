package api

import (
	"strconv"

	"agenthost/sessions"
)

// DetailRetryAfterMs is the detail of an OVERLOADED error that says when to try
// again, in milliseconds from now. Without it a second is a good guess.
const DetailRetryAfterMs = "retryAfterMs"

// RetryAfter returns the value of the header Retry-After for an error, in whole
// seconds; "" when the error has none.
func RetryAfter(err error) string {
	if sessions.CodeOf(err) != sessions.CodeOverloaded {
		return ""
	}
	wait, ok := sessions.AsError(err).Details[DetailRetryAfterMs].(int64)
	if !ok {
		return "1"
	}
	return strconv.FormatInt(max(1, (wait+999)/1000), 10)
}
