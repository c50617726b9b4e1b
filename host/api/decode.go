package api

import (
	"encoding/json"
	"slices"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// DecodeRequest reads an envelope strictly. With an error the request still
// carries its ID when that could be made out, so that the reply can name it.
// That an id must be there is the rule of one door, and is not asked here.
func DecodeRequest(data []byte) (Request, error) {
	var r Request
	if err := strictjson.Decode(data, "", &r); err != nil {
		return Request{ID: salvageID(data, err)}, err
	}
	if r.ID != nil {
		if err := checkEnvelopeID(*r.ID); err != nil {
			return Request{}, err
		}
	}
	if r.Op == "" {
		return r, sessions.InvalidField("/op", "A request needs an op, such as \"$prompt\".")
	}
	return r, nil
}

// RequireID returns INVALID_REQUEST when the request has no id.
func (r Request) RequireID() error {
	if r.ID == nil {
		return sessions.InvalidField("/id", "A request on this connection needs an id, a string of at most %d bytes.", MaxEnvelopeIDBytes)
	}
	return nil
}

func checkEnvelopeID(id string) error {
	if len(id) > MaxEnvelopeIDBytes {
		return sessions.InvalidField("/id", "An id has at most %d bytes; this one has %d.", MaxEnvelopeIDBytes, len(id))
	}
	if slices.Contains([]byte(id), 0) {
		return sessions.InvalidField("/id", "An id must not contain NUL.")
	}
	return nil
}

// salvageID returns the id of an envelope that is refused for another reason
// than its id, and is JSON at least.
func salvageID(data []byte, refusal error) *string {
	if sessions.AsError(refusal).Details["field"] == "/id" {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil
	}
	var id *string
	if raw, ok := fields["id"]; !ok || strictjson.Decode(raw, "/id", &id) != nil || checkEnvelopeID(*id) != nil {
		return nil
	}
	return id
}

// DecodeArgs reads the arguments of the request's operation strictly; absent
// ones are an empty object. UNKNOWN_OP comes before anything about the arguments.
func (r Request) DecodeArgs() (Args, error) {
	row, err := Lookup(r.Op)
	if err != nil {
		return nil, err
	}
	args := row.NewArgs()
	if r.Args == nil {
		return args, nil
	}
	if err := strictjson.Decode(r.Args, "/args", args); err != nil {
		return nil, err
	}
	return args, nil
}
