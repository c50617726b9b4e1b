package sessions

import (
	"strings"
	"unicode/utf8"
)

// CheckQuestion returns why a side question cannot be asked, naming field: it is
// blank or no UTF-8, INVALID_REQUEST, or longer than a message may be,
// PAYLOAD_TOO_LARGE.
func CheckQuestion(field, question string, limits Limits) error {
	switch size := int64(len(question)); {
	case size > limits.MessageBytes:
		return TooLarge("messageBytes", limits.MessageBytes,
			"The question has %d bytes, more than the limit of %d.", size, limits.MessageBytes).With("field", field)
	case !utf8.ValidString(question):
		return InvalidField(field, "Text must be valid UTF-8.")
	case strings.TrimSpace(question) == "":
		return InvalidField(field, "A side question needs a question.")
	default:
		return nil
	}
}
