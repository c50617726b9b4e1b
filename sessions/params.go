package sessions

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Inference is what a turn asks of models beside the conversation. It is stored
// with the turn, so that it holds after a restart under another configuration.
type Inference struct {
	Params Params `json:"params,omitzero"`
	// AnswerSchema is the JSON Schema of the object that every answer must hold,
	// without spaces between its parts; nil for free text.
	AnswerSchema json.RawMessage `json:"answerSchema,omitempty"`
	// ClientTools are tools that clients run, beside those of the tool tree.
	ClientTools []ClientTool `json:"clientTools,omitempty"`
	// Instructions are put behind the profile's system prompt, "" for none.
	Instructions string `json:"instructions,omitempty"`
}

// IsZero reports whether nothing is asked.
func (i Inference) IsZero() bool {
	return i.Params == (Params{}) && i.AnswerSchema == nil && len(i.ClientTools) == 0 && i.Instructions == ""
}

// Params tune the answers of a model. What is not set is left to the provider,
// and an adapter leaves out what its provider does not have.
type Params struct {
	Temperature *float64 `json:"temperature,omitempty"` // from 0 to 2
	TopP        *float64 `json:"topP,omitempty"`        // from 0 to 1
	MaxTokens   int64    `json:"maxTokens,omitzero"`    // of one answer; 0 is not set
	Seed        *int64   `json:"seed,omitempty"`
	Effort      Effort   `json:"effort,omitzero"` // "" is not set
}

// Effort says how much a model may think before it answers. Which efforts a
// model has is its provider's affair.
type Effort string

// efforts are all that some model has, in ascending order.
var efforts = []Effort{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// The bounds of parameters.
const (
	maxTemperature = 2
	maxTopP        = 1
)

// Check returns INVALID_REQUEST naming the parameter below field that no
// provider would take.
func (p Params) Check(field string) error {
	switch {
	case p.Temperature != nil && !within(*p.Temperature, maxTemperature):
		return InvalidField(field+"/temperature", "A temperature is from 0 to %d.", maxTemperature)
	case p.TopP != nil && !within(*p.TopP, maxTopP):
		return InvalidField(field+"/topP", "topP is from 0 to %d.", maxTopP)
	case p.MaxTokens < 0:
		return InvalidField(field+"/maxTokens", "maxTokens is at least 1; 0 leaves it to the provider.")
	case p.Effort != "" && !slices.Contains(efforts, p.Effort):
		names := make([]string, len(efforts))
		for i, e := range efforts {
			names[i] = string(e)
		}
		return InvalidField(field+"/effort", "An effort is one of %s.", strings.Join(names, ", "))
	}
	return nil
}

// within reports whether x is a number from 0 to most.
func within(x, most float64) bool { return x >= 0 && x <= most }

// Over returns p, with q's in place of what p does not set.
func (p Params) Over(q Params) Params {
	return Params{
		Temperature: cmp.Or(p.Temperature, q.Temperature), TopP: cmp.Or(p.TopP, q.TopP),
		MaxTokens: cmp.Or(p.MaxTokens, q.MaxTokens), Seed: cmp.Or(p.Seed, q.Seed), Effort: cmp.Or(p.Effort, q.Effort),
	}
}
