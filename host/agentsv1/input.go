package agentsv1

import (
	"encoding/json"
	"net/http"
	"slices"

	"agenthost/host"
	"agenthost/host/api"
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
	// answered: the result of a function call.
	answered struct {
		turn   sessions.TurnID
		call   sessions.CallID
		answer sessions.CallAnswer
	}
)

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
	result := answered{turn: body.TurnID, call: body.CallID}
	if !*body.Success {
		message := "The tool failed."
		if body.Error != nil && *body.Error != "" {
			message = *body.Error
		}
		result.answer.Error = &message
		return result, nil
	}
	result.answer.Output = json.RawMessage("null")
	switch {
	case !present(body.Output):
	case body.Output[0] == '"', body.Output[0] == '[' && isParts(body.Output):
		result.answer.Output = body.Output
	default:
		return nil, invalid(dotted(at+"/output"), "An output is a text or a list of content.")
	}
	return result, nil
}

// eventsOf reads the events of a request. Messages that follow each other become
// one, and a message behind a cancel takes the place of what that ends, so that
// each of them is one write of the store.
func eventsOf(object json.RawMessage) (events []inputEvent, err error) {
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
		event, err := eventOf(raw, strictjson.PointerAt("/events", i))
		if err != nil {
			return nil, err
		}
		events = join(events, event)
	}
	return events, nil
}

func join(events []inputEvent, next inputEvent) []inputEvent {
	if len(events) == 0 {
		return []inputEvent{next}
	}
	last := len(events) - 1
	message, says := next.(said)
	switch before := events[last].(type) {
	case said:
		if says {
			events[last] = said{slices.Concat(before.content, message.content), before.instead}
			return events
		}
	case stopped:
		if says {
			events[last] = said{message.content, true}
			return events
		}
	}
	return append(events, next)
}

// postEvents takes the input of a session. All of it is checked before any of it
// is done.
func (v *visit) postEvents(at api.Address) error {
	object, err := v.body()
	if err != nil {
		return err
	}
	key, err := v.idempotencyKey()
	if err != nil {
		return err
	}
	events, err := eventsOf(object)
	if err != nil {
		return err
	}
	if sessions.CheckSessionID("", at.SessionID) != nil {
		return notFound()
	}
	if err := v.checkCalls(at, key, events); err != nil {
		return err
	}
	s, first, err := v.claim(at, key, object, events)
	if err != nil {
		return err
	}
	input := &input{visit: v, at: at, key: key, session: s, target: first}
	if input.settings, err = settingsOf(v.ctx(), v.access, s); err != nil {
		return err
	}
	if err := input.check(events); err != nil {
		return err
	}
	for i, event := range events {
		if err := input.do(i, event); err != nil {
			return err
		}
	}
	v.w.WriteHeader(http.StatusAccepted)
	return nil
}

// claim makes the request safe to repeat, and returns the turn that a cancel of it
// means.
func (v *visit) claim(at api.Address, key idempotencyKey, object json.RawMessage, events []inputEvent) (sessions.Session, sessions.TurnID, error) {
	if key == "" || len(events) == 0 {
		s, err := v.session(at)
		if err != nil || s.ActiveTurn != nil {
			return s, activeOf(s), err
		}
		first, err := v.firstQueued(at, s)
		return s, first, err
	}
	got, err := v.access.ClaimRequest(v.ctx(), host.Claim{Address: at, RequestID: key.of("events"),
		Fingerprint: fingerprint("events of "+string(at.SessionID), object)})
	return got.Session, got.TurnID, err
}

func activeOf(s sessions.Session) sessions.TurnID {
	if s.ActiveTurn == nil {
		return ""
	}
	return s.ActiveTurn.TurnID
}

// firstQueued returns the oldest queued turn of a session without an active one.
func (v *visit) firstQueued(at api.Address, s sessions.Session) (first sessions.TurnID, err error) {
	if s.Queued == 0 {
		return "", nil
	}
	got, err := v.access.Turns(v.ctx(), &api.TurnsArgs{Address: at, Limit: new(maxLimit)})
	if err != nil {
		return "", err
	}
	for _, t := range got.Turns {
		if t.Status == sessions.TurnIsQueued {
			first = t.TurnID
		}
	}
	return first, nil
}

// input is the events of one request on their way into a session.
type input struct {
	*visit
	at       api.Address
	key      idempotencyKey
	session  sessions.Session
	settings settings
	target   sessions.TurnID // what a cancel ends
}

// check refuses what the session cannot take, before anything is done.
func (in *input) check(events []inputEvent) error {
	for _, event := range events {
		switch event := event.(type) {
		case said:
			args := in.settings.prompt(in.at, event.content)
			if err := args.Validate(in.config.Limits); err != nil {
				return err
			}
		case answered, stopped:
		}
	}
	return nil
}

func (in *input) do(i int, event inputEvent) error {
	switch event := event.(type) {
	case said:
		return in.say(i, event)
	case stopped:
		if in.target == "" {
			return nil // there is nothing to end
		}
		_, err := in.access.CancelTurn(in.ctx(), in.at, in.target)
		return err
	case answered:
		return in.answer(event)
	}
	return nil
}

func (in *input) say(i int, event said) error {
	args := in.settings.prompt(in.at, event.content)
	args.RequestID = in.key.part(i)
	if event.instead {
		args.Busy = sessions.BusyInterrupt
	}
	got, err := in.access.Prompt(in.ctx(), &args, nil)
	if err != nil {
		return err
	}
	in.target = got.TurnID
	return nil
}
