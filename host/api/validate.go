package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// Validate checks that parent and location come together; see Args.
func (a SessionCreateArgs) Validate(limits sessions.Limits) error {
	if a.ProfileKey != "" && a.TargetKey == "" && a.SessionID == "" {
		return sessions.InvalidField("/args/profileKey", "A profileKey needs a targetKey or a sessionId beside it.")
	}
	if a.ParentID != "" && a.ParentLocation == "" {
		return sessions.InvalidField("/args/parentLocation", "A parentId needs a parentLocation, local or remote.")
	}
	if a.ParentID == "" && a.ParentLocation != "" {
		return sessions.InvalidField("/args/parentId", "A parentLocation needs a parentId.")
	}
	return cmp.Or(
		a.checkParts(),
		checkGiven("/args/parentId", a.ParentID, sessions.CheckSessionID),
		oneOf("/args/parentLocation", a.ParentLocation, sessions.Local, sessions.Remote),
		checkGiven("/args/requestId", a.RequestID, sessions.CheckRequestID),
		checkTitle(a.Title, limits),
		checkLabels("/args/labels", a.Labels, limits),
	)
}

// Validate checks the address; see Args.
func (a SessionGetArgs) Validate(sessions.Limits) error { return a.check(true) }

// Validate checks the filters and the page size; see Args.
func (a SessionListArgs) Validate(limits sessions.Limits) error {
	for i, status := range a.Status {
		at := "/args/status"
		if len(a.Status) > 1 {
			at = strictjson.PointerAt(at, i)
		}
		if err := exactlyOneOf(at, status, sessions.Statuses()...); err != nil {
			return err
		}
	}
	var parent error
	if id, ok := a.ParentID.Value(); ok {
		parent = sessions.CheckSessionID("/args/parentId", id)
	}
	var labels error
	if !a.AnyLabel {
		labels = checkLabels("/args/label", a.Label, limits)
	}
	return cmp.Or(
		checkGiven("/args/targetKey", a.TargetKey, sessions.CheckKeyPart),
		checkGiven("/args/profileKey", a.ProfileKey, sessions.CheckKeyPart),
		parent,
		labels,
		checkRange("/args/limit", "limit", a.Limit, 1, MaxPageLimit),
	)
}

// Validate checks that something is to be changed; see Args.
func (a SessionUpdateArgs) Validate(limits sessions.Limits) error {
	if err := a.check(true); err != nil {
		return err
	}
	if a.Title == nil && a.Labels == nil {
		return sessions.InvalidField("/args", "An update needs a title or labels.")
	}
	return cmp.Or(checkTitle(orDefault(a.Title, ""), limits), checkLabels("/args/labels", a.Labels, limits))
}

// Validate checks the choices and the grace; see Args.
func (a SessionDeleteArgs) Validate(sessions.Limits) error {
	return cmp.Or(
		a.check(true),
		oneOf("/args/ifBusy", a.IfBusy, IfBusyCancel, IfBusyReject),
		oneOf("/args/children", a.Children, sessions.Cascade, sessions.Detach),
		checkRange("/args/deleteGraceMs", "deleteGraceMs", a.DeleteGraceMs, 0, MaxDeleteGraceMs),
	)
}

// Validate returns nil: there is nothing to check.
func (SessionClearAllArgs) Validate(sessions.Limits) error { return nil }

// Validate checks the transcript and the state; see Args.
func (a SessionSeedArgs) Validate(limits sessions.Limits) error {
	if err := cmp.Or(a.check(true), checkGiven("/args/requestId", a.RequestID, sessions.CheckRequestID)); err != nil {
		return err
	}
	if err := checkTranscript("/args/messages", a.Messages, limits); err != nil {
		return err
	}
	if err := sessions.CheckPairing("/args/messages", a.SessionMessages()); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.State)) {
		at := strictjson.Pointer("/args/state", name)
		if err := cmp.Or(checkName(at, name), checkRaw(at, a.State[name])); err != nil {
			return err
		}
	}
	return nil
}

// Validate checks the content, the options and their ranges; see Args.
func (a PromptArgs) Validate(limits sessions.Limits) error {
	return cmp.Or(
		a.check(true),
		a.checkContent(limits),
		checkGiven("/args/requestId", a.RequestID, sessions.CheckRequestID),
		oneOf("/args/busy", a.Busy, sessions.BusyPolicies()...),
		checkWait(a.Wait),
		checkAtLeast("/args/maxIterations", "maxIterations", a.MaxIterations, 1),
		checkAtLeast("/args/promptTimeoutMs", "promptTimeoutMs", a.PromptTimeoutMs, 1),
		a.checkInference(limits),
		checkClientTools("/args/clientTools", a.ClientTools, limits),
	)
}

// checkClientTools bounds the tools that a prompt brings along. What they are is
// checked where the tools of the host are known.
func checkClientTools(field string, list []sessions.ClientTool, limits sessions.Limits) error {
	if len(list) > maxClientTools {
		return sessions.TooLarge("clientTools", maxClientTools,
			"A prompt brings at most %d tools along; this one brings %d.", maxClientTools, len(list)).With("field", field)
	}
	size := 0
	for i, t := range list {
		at := strictjson.PointerAt(field, i)
		if err := checkText(at+"/description", t.Description); err != nil {
			return err
		}
		if t.Schema != nil {
			if err := checkRaw(at+"/schema", t.Schema); err != nil {
				return err
			}
		}
		size += len(t.Path) + len(t.Description) + len(t.Schema)
	}
	if int64(size) > limits.MessageBytes {
		return sessions.TooLarge("messageBytes", limits.MessageBytes,
			"The prompt's tools have %d bytes, more than the limit of %d.", size, limits.MessageBytes).With("field", field)
	}
	return nil
}

// maxClientTools is how many tools a prompt may bring along.
const maxClientTools = 64

func (a PromptArgs) checkInference(limits sessions.Limits) error {
	const field = "/args/answerSchema"
	if err := a.Inference().Params.Check("/args/params"); err != nil {
		return err
	}
	if size := int64(len(a.Instructions)); size > limits.MessageBytes {
		return sessions.TooLarge("messageBytes", limits.MessageBytes,
			"The instructions have %d bytes, more than the limit of %d.", size, limits.MessageBytes).With("field", "/args/instructions")
	}
	if a.AnswerSchema == nil {
		return nil
	}
	if size := int64(len(a.AnswerSchema)); size > limits.MessageBytes {
		return sessions.TooLarge("messageBytes", limits.MessageBytes,
			"The schema has %d bytes, more than the limit of %d.", size, limits.MessageBytes).With("field", field)
	}
	if err := checkRaw(field, a.AnswerSchema); err != nil {
		return err
	}
	if !isObject(a.AnswerSchema) {
		return sessions.InvalidField(field, "A schema is a JSON object.")
	}
	return nil
}

func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

func (a PromptArgs) checkContent(limits sessions.Limits) error {
	switch {
	case a.Text != "" && a.Content != nil:
		return sessions.InvalidField("/args/content", "A prompt has text or content, not both.")
	case a.Text != "":
		if size := int64(len(a.Text)); size > limits.MessageBytes {
			return sessions.TooLarge("messageBytes", limits.MessageBytes,
				"The text has %d bytes, more than the limit of %d.", size, limits.MessageBytes).With("field", "/args/text")
		}
		return checkText("/args/text", a.Text)
	case a.Content == nil:
		return sessions.InvalidField("/args/text", "A prompt needs text or content.")
	case len(a.Content) == 0:
		return sessions.InvalidField("/args/content", "The content of a prompt must have at least one part.")
	}
	return checkContent("/args/content", a.Content, limits, contentBound{"messageBytes", limits.MessageBytes})
}

// Validate checks that at most one thing is named; see Args.
func (a CancelArgs) Validate(sessions.Limits) error {
	if a.SideQuestion && a.RequestID != "" {
		return sessions.InvalidField("/args/sideQuestion", "A cancel names a requestId or the side question, not both.")
	}
	return cmp.Or(a.check(true), checkGiven("/args/requestId", a.RequestID, sessions.CheckRequestID))
}

// Validate checks the page size; see Args.
func (a TurnsArgs) Validate(sessions.Limits) error {
	return cmp.Or(a.check(true), checkRange("/args/limit", "limit", a.Limit, 1, MaxPageLimit))
}

// Validate checks the bounds and the page size; see Args.
func (a MessagesArgs) Validate(sessions.Limits) error {
	return cmp.Or(
		a.check(true),
		checkAtLeast("/args/afterSeq", "afterSeq", a.AfterSeq, 0),
		checkAtLeast("/args/beforeSeq", "beforeSeq", a.BeforeSeq, 1),
		oneOf("/args/order", a.Order, Ascending, Descending),
		checkRange("/args/limit", "limit", a.Limit, 1, MaxHistoryLimit),
	)
}

// Validate checks the form of the cursors and the page size; see Args.
func (a FramesArgs) Validate(sessions.Limits) error {
	return cmp.Or(
		a.check(true),
		checkGiven("/args/requestId", a.RequestID, sessions.CheckRequestID),
		checkGiven("/args/after", a.After, checkCursor),
		checkGiven("/args/before", a.Before, checkCursor),
		oneOf("/args/order", a.Order, Ascending, Descending),
		checkRange("/args/limit", "limit", a.Limit, 1, MaxHistoryLimit),
	)
}

// Validate checks the name; see Args.
func (a StateArgs) Validate(sessions.Limits) error {
	return cmp.Or(a.check(true), checkGiven("/args/name", a.Name, checkName))
}

// Validate checks that a cursor comes with an address; see Args.
func (a SubscribeArgs) Validate(sessions.Limits) error {
	if a.After != "" && a.IsZero() {
		return sessions.InvalidField("/args/after", "A cursor belongs to one session; give its address too.")
	}
	return cmp.Or(a.check(false), checkGiven("/args/after", a.After, checkCursor))
}

// Validate checks that a subscription is named; see Args.
func (a UnsubscribeArgs) Validate(sessions.Limits) error {
	return checkName("/args/sub", a.Sub)
}

// checkCursor checks the form of a cursor, not whether it applies.
func checkCursor(field string, c sessions.Cursor) error {
	_, _, err := c.Position(field)
	return err
}
