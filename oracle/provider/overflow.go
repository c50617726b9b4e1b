package provider

import (
	"errors"
	"net/http"

	"agenthost/oracle"
)

// overflow is an error that says that the model's context window does not take
// the request.
type overflow struct{ error }

// Is makes an overflow known as oracle.ErrOverflow.
func (overflow) Is(target error) bool { return target == oracle.ErrOverflow }

// Overflow marks err, the provider's words, as oracle.ErrOverflow.
func Overflow(err error) error { return overflow{err} }

// JudgeRefusal marks err if it is a response that refuses the request for its
// length: tooLong tells that from the body. A body of more bytes than a provider
// takes counts too.
func JudgeRefusal(err error, tooLong func(body string) bool) error {
	refused, ok := errors.AsType[*statusError](err)
	if ok && (refused.status == http.StatusRequestEntityTooLarge || !refused.passing() && tooLong(refused.body)) {
		return Overflow(err)
	}
	return err
}
