package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"
	"maps"
	"slices"

	"agenthost/sessions"
)

// Fingerprint digests what the prompt asks: the address with its profile key
// defaulted, the content, and what is asked of models. Busy, wait, stream and limits are not part of it,
// so that a repeat may differ in them. Text and the same text as a single part
// are equal; so are json values that differ in space and in the order of names.
func (a PromptArgs) Fingerprint() [32]byte {
	d := newDigest(OpPrompt)
	d.address(a.Address)
	d.content(a.Parts())
	if asked := a.Inference(); !asked.IsZero() {
		d.inference(asked)
	}
	return d.sum()
}

// inference digests parameters by their JSON form.
func (d digest) inference(i sessions.Inference) {
	raw, err := json.Marshal(i.Params)
	if err != nil {
		raw = []byte(i.Params.Effort)
	}
	d.value(raw)
	d.value(i.AnswerSchema)
	if len(i.ClientTools) == 0 && i.Instructions == "" {
		return
	}
	d.count(len(i.ClientTools))
	for _, tool := range i.ClientTools {
		d.text(tool.Path)
		d.text(tool.Description)
		d.value(tool.Schema)
	}
	d.text(i.Instructions)
}

// Fingerprint digests everything but the request id.
func (a SessionCreateArgs) Fingerprint() [32]byte {
	d := newDigest(OpSessionCreate)
	d.address(a.Address)
	d.text(a.Title)
	d.count(len(a.Labels))
	for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
		d.text(name)
		d.text(a.Labels[name])
	}
	d.text(string(a.ParentID))
	d.text(string(a.ParentLocation))
	return d.sum()
}

// Fingerprint digests everything but the request id.
func (a SessionSeedArgs) Fingerprint() [32]byte {
	d := newDigest(OpSessionSeed)
	d.address(a.Address)
	d.count(len(a.Messages))
	for _, m := range a.Messages {
		d.message(m)
	}
	d.count(len(a.State))
	for _, name := range slices.Sorted(maps.Keys(a.State)) {
		d.text(name)
		d.value(a.State[name])
	}
	return d.sum()
}

// digest sums up a request in one canonical form: every text with its length
// before it, every list with its count, so that no two requests share a form.
type digest struct{ hash hash.Hash }

func newDigest(op Op) digest {
	d := digest{sha256.New()}
	d.text(string(op))
	return d
}

func (d digest) sum() [32]byte { return [32]byte(d.hash.Sum(nil)) }

func (d digest) count(n int) {
	d.hash.Write(binary.AppendUvarint(nil, uint64(n)))
}

func (d digest) flag(set bool) {
	if set {
		d.count(1)
	} else {
		d.count(0)
	}
}

func (d digest) text(s string) {
	d.count(len(s))
	d.hash.Write([]byte(s))
}

// address leaves the owner out: request ids are unique per owner anyway.
func (d digest) address(a Address) {
	d.text(string(a.SessionID))
	d.text(a.TargetKey)
	d.text(a.Profile())
}

func (d digest) content(parts []sessions.Content) {
	d.count(len(parts))
	for _, part := range parts {
		d.text(string(part.Type))
		d.text(part.Text)
		d.text(part.MediaType)
		d.text(part.Data)
		d.text(part.URL)
		d.value(part.Value)
	}
}

func (d digest) message(m SeedMessage) {
	d.text(string(m.Role))
	d.content(m.Content)
	d.count(len(m.ToolCalls))
	for _, c := range m.ToolCalls {
		d.text(string(c.ID))
		d.text(c.Path)
		d.value(c.Args)
	}
	d.text(string(m.ToolCallID))
	d.failure(m.Error)
	d.flag(m.Interrupted)
}

// failure digests an error by its JSON form, which sorts the names of details.
func (d digest) failure(e *sessions.ErrorInfo) {
	if e == nil {
		d.count(0)
		return
	}
	raw, err := json.Marshal(e)
	if err != nil {
		raw = []byte(e.Code)
	}
	d.value(raw)
}

// value digests a JSON value without its spaces, its names sorted and its
// numbers as written. What is no JSON is digested as it is.
func (d digest) value(raw json.RawMessage) {
	if raw == nil {
		d.count(0)
		return
	}
	var v any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&v) == nil {
		if canonical, err := json.Marshal(v); err == nil {
			raw = canonical
		}
	}
	d.text(string(raw))
}
