package api

import (
	"cmp"

	"agenthost/sessions"
)

// SideQuestionArgs asks the model of a session about its conversation, and leaves
// the conversation as it is.
type SideQuestionArgs struct {
	Address
	Question string `json:"question"`
}

// SideQuestionResult is the model's answer, and what its call consumed.
type SideQuestionResult struct {
	Text  string         `json:"text"`
	Usage sessions.Usage `json:"usage"`
}

// Validate checks the address and the question; see Args.
func (a SideQuestionArgs) Validate(limits sessions.Limits) error {
	return cmp.Or(a.check(true), sessions.CheckQuestion("/args/question", a.Question, limits))
}
