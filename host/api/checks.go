package api

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// maxCallIDBytes is the longest id of a tool call, in bytes.
const maxCallIDBytes = 256

// OutOfRange returns INVALID_REQUEST about a number that is not within min and
// max, both allowed. limit is the configuration name of the bound. A max of
// math.MaxInt64 stands for none.
func OutOfRange(field, limit string, min, max int64) *sessions.Error {
	if max == math.MaxInt64 {
		return sessions.InvalidField(field, "The number must be %d or more.", min).With("limit", limit).With("min", min)
	}
	return sessions.InvalidField(field, "The number must be from %d to %d.", min, max).
		With("limit", limit).With("min", min).With("max", max)
}

// checkRange refuses a number that is given and not within min and max.
func checkRange[T int | int64](field, limit string, n *T, min, max int64) error {
	if n == nil || int64(*n) >= min && int64(*n) <= max {
		return nil
	}
	return OutOfRange(field, limit, min, max)
}

// checkAtLeast refuses a number that is given and below min.
func checkAtLeast[T int | int64](field, limit string, n *T, min int64) error {
	return checkRange(field, limit, n, min, math.MaxInt64)
}

// check applies the rules of addressing for operations other than create.
// required says that there must be an address.
func (a Address) check(required bool) error {
	switch {
	case a.SessionID != "" && a.TargetKey != "":
		return sessions.InvalidField("/args/targetKey", "A session is addressed by sessionId or by targetKey, not by both.")
	case a.SessionID != "" && a.ProfileKey != "":
		return sessions.InvalidField("/args/profileKey", "A session that is addressed by sessionId takes no profileKey.")
	case a.TargetKey == "" && a.ProfileKey != "":
		return sessions.InvalidField("/args/profileKey", "A profileKey addresses a session only together with a targetKey.")
	case required && a.IsZero():
		return sessions.InvalidField("/args/sessionId", "An address is needed: sessionId, or targetKey with profileKey.")
	}
	return a.checkParts()
}

// checkParts checks each part that is given by itself.
func (a Address) checkParts() error {
	return cmp.Or(
		checkGiven("/args/sessionId", a.SessionID, sessions.CheckSessionID),
		checkGiven("/args/targetKey", a.TargetKey, sessions.CheckKeyPart),
		checkGiven("/args/profileKey", a.ProfileKey, sessions.CheckKeyPart),
	)
}

// checkGiven applies check to a value that is not empty.
func checkGiven[T ~string](field string, value T, check func(string, T) error) error {
	if value == "" {
		return nil
	}
	return check(field, value)
}

// checkName refuses a name that could not be a key either.
func checkName(field, name string) error {
	if sessions.CheckKeyPart(field, name) != nil {
		return sessions.InvalidField(field, "A name has 1 to %d bytes of printable UTF-8.", sessions.MaxKeyBytes)
	}
	return nil
}

// checkCallID refuses an id of a tool call that is empty, too long or not
// printable ASCII.
func checkCallID(field string, id sessions.CallID) error {
	if id == "" || len(id) > maxCallIDBytes {
		return sessions.InvalidField(field, "A call id has 1 to %d characters; this one has %d.", maxCallIDBytes, len(id))
	}
	for i := range len(id) {
		if id[i] < 0x20 || id[i] > 0x7e {
			return sessions.InvalidField(field, "A call id is printable ASCII; character %d is not.", i+1)
		}
	}
	return nil
}

// checkText refuses text that is not UTF-8, which only Go callers can give.
func checkText(field, text string) error {
	if !utf8.ValidString(text) {
		return sessions.InvalidField(field, "Text must be valid UTF-8.")
	}
	return nil
}

func checkTitle(title string, limits sessions.Limits) error {
	if len(title) > limits.TitleBytes {
		return sessions.TooLarge("titleBytes", int64(limits.TitleBytes),
			"The title has %d bytes, more than the limit of %d.", len(title), limits.TitleBytes).With("field", "/args/title")
	}
	return checkText("/args/title", title)
}

// checkLabels checks labels in the order of their names, so that the same
// request always gets the same answer.
func checkLabels(field string, labels map[string]string, limits sessions.Limits) error {
	if len(labels) > limits.Labels {
		return sessions.TooLarge("labels", int64(limits.Labels),
			"There are %d labels, more than the limit of %d.", len(labels), limits.Labels).With("field", field)
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		at, value := strictjson.Pointer(field, name), labels[name]
		if len(name) > limits.LabelBytes || len(value) > limits.LabelBytes {
			return sessions.TooLarge("labelBytes", int64(limits.LabelBytes),
				"A label's name and value have at most %d bytes each.", limits.LabelBytes).With("field", at)
		}
		if err := cmp.Or(checkLabelName(at, name), checkText(at, value)); err != nil {
			return err
		}
	}
	return nil
}

func checkLabelName(field, name string) error {
	if name == "" {
		return sessions.InvalidField(field, "A label's name must not be empty.")
	}
	if !utf8.ValidString(name) || slices.Contains([]byte(name), 0) {
		return sessions.InvalidField(field, "A label's name must be valid UTF-8 without NUL.")
	}
	return nil
}
