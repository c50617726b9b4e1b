package agentsv1

import (
	"encoding/json"
	"slices"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// maxEvents is how many input events one request may carry.
const maxEvents = 64

// inputEvent is one thing that a client tells a session.
type inputEvent interface{ inputEvent() }

type (
	// said: messages of the user. With instead, they take the place of the turn
	// under way.
	said struct {
		content []sessions.Content
		instead bool
	}
	// stopped: the turn under way is to be cancelled.
	stopped struct{}
	// answered: results of function calls.
	answered []result
)

// result is what a client gives to a call of a turn.
type result struct {
	turn   sessions.TurnID
	call   sessions.CallID
	answer sessions.CallAnswer
}

func (said) inputEvent()     {}
func (stopped) inputEvent()  {}
func (answered) inputEvent() {}

// resultBody is the result of a function call.
type resultBody struct {
	Type    string          `json:"type"`
	CallID  sessions.CallID `json:"call_id"`
	TurnID  sessions.TurnID `json:"turn_id"`
	Success *bool           `json:"success"`
	Error   *string         `json:"error"`
	Output  json.RawMessage `json:"output"`
}

// eventOf reads one input event.
func eventOf(raw json.RawMessage, at string) (inputEvent, error) {
	var kind struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &kind) // what is no object has no type
	switch kind.Type {
	case "agent.session.input.message":
		var body struct {
			Type  string          `json:"type"`
			Input json.RawMessage `json:"input"`
		}
		if err := decode(raw, at, &body); err != nil {
			return nil, err
		}
		if len(body.Input) == 0 || body.Input[0] != '[' {
			return nil, invalid(dotted(at+"/input"), "A message event needs a list of input messages.")
		}
		content, err := inputOf(body.Input, at+"/input")
		return said{content: content}, err
	case "agent.session.input.cancel":
		var body struct {
			Type string `json:"type"`
		}
		return stopped{}, decode(raw, at, &body)
	case "agent.session.input.tool_result":
		return resultOf(raw, at)
	}
	return nil, invalid(dotted(at+"/type"), "An input event is agent.session.input.message, .cancel or .tool_result.")
}

func resultOf(raw json.RawMessage, at string) (inputEvent, error) {
	var body resultBody
	if err := decode(raw, at, &body); err != nil {
		return nil, err
	}
	if body.CallID == "" || body.TurnID == "" || body.Success == nil {
		return nil, invalid(dotted(at), "A tool_result needs a call_id, a turn_id and success.")
	}
	r := result{turn: body.TurnID, call: body.CallID}
	if !*body.Success {
		message := "The tool failed."
		if body.Error != nil && *body.Error != "" {
			message = *body.Error
		}
		r.answer.Error = &message
		return answered{r}, nil
	}
	r.answer.Output = json.RawMessage("null")
	switch {
	case !present(body.Output):
	case body.Output[0] == '"', body.Output[0] == '[' && isParts(body.Output):
		r.answer.Output = body.Output
	default:
		return nil, invalid(dotted(at+"/output"), "An output is a text or a list of content.")
	}
	return answered{r}, nil
}

// eventsOf reads the events of a request as the one thing that they come to, which is
// one write of the store, so that all of them happen or none: messages that follow
// each other are one; a message behind a cancel takes the place of what that ends;
// results are given together. nil when there are no events.
func eventsOf(object json.RawMessage) (all inputEvent, err error) {
	var body struct {
		Events *[]json.RawMessage `json:"events"`
	}
	if err := decode(object, "", &body); err != nil {
		return nil, err
	}
	if body.Events == nil {
		return nil, invalid("events", "A request needs a list of events, which may be empty.")
	}
	if len(*body.Events) > maxEvents {
		return nil, invalid("events", "A request has at most %d events; this one has %d.", maxEvents, len(*body.Events))
	}
	for i, raw := range *body.Events {
		at := strictjson.PointerAt("/events", i)
		event, err := eventOf(raw, at)
		if err != nil {
			return nil, err
		}
		joined, ok := join(all, event)
		if !ok {
			return nil, invalid(dotted(at), "This event cannot happen together with those before it; send it in a request of its own.")
		}
		all = joined
	}
	return all, nil
}

// join returns what an event behind others comes to, unless that is two things.
func join(before, next inputEvent) (all inputEvent, ok bool) {
	switch before := before.(type) {
	case nil:
		return next, true
	case said:
		if next, ok := next.(said); ok {
			return said{slices.Concat(before.content, next.content), before.instead}, true
		}
	case stopped:
		switch next := next.(type) {
		case said:
			return said{next.content, true}, true
		case stopped:
			return before, true
		case answered:
		}
	case answered:
		if next, ok := next.(answered); ok {
			return append(before, next...), true
		}
	}
	return nil, false
}
