package provider

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"agenthost/oracle"
)

// The longest waits before a retry: of the provider's wish, and of our own.
const (
	maxRetryAfter = 30 * time.Second
	maxPause      = 8 * time.Second
)

// retries decides over the tries of one model call.
type retries struct {
	left  int
	empty bool // an empty answer was retried
	next  time.Duration
}

// again reports whether a try that failed with err before its first part is
// worth another, and counts it.
func (r *retries) again(err error) bool {
	if status, ok := errors.AsType[*statusError](err); ok && !status.passing() ||
		errors.Is(err, errTooLarge) || errors.Is(err, oracle.ErrOverflow) {
		return false
	}
	if errors.Is(err, errEmpty) {
		if r.empty {
			return false
		}
		r.empty = true
	}
	r.left--
	return r.left >= 0
}

// pause waits before the next try: as long as the provider asked, else for a
// random part of a time that doubles. It returns ctx's error if that ends first.
func (r *retries) pause(ctx context.Context, err error) error {
	wait := r.next/2 + rand.N(r.next/2+1)
	r.next = min(2*r.next, max(maxPause, r.next))
	if status, ok := errors.AsType[*statusError](err); ok {
		if asked, ok := retryAfter(status.header); ok {
			wait = min(asked, maxRetryAfter)
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryAfter reads the Retry-After of a response, in seconds or as a date.
func retryAfter(header http.Header) (time.Duration, bool) {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second)), true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(time.Until(date), 0), true
	}
	return 0, false
}
