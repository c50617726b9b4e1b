package actors

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"agenthost/sessions"
)

// What stands in the input of a side question beside the conversation.
const (
	// sideStub is the result of each call that is under way.
	sideStub = "The call is still under way; it has no result yet."
	// sideNote follows the question.
	sideNote = "(This is a question aside. Answer it now, from the conversation above, in text and without calling tools. " +
		"Neither it nor the answer becomes part of the conversation.)"
)

// takeFrom makes the latest input of a run, its reply so far included, what is asked
// about. It is false while the run has not read its history yet.
func (s *side) takeFrom(r *run) bool {
	s.inference = &r.turn.Inference
	s.history, s.summary = r.fork()
	return s.history != nil
}

// fork is the history of the run, with the reply that the model is giving, and what
// stands for its beginning.
func (r *run) fork() ([]sessions.Message, sessions.Summary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.history) == 0 {
		return nil, r.summary
	}
	history, s := slices.Clip(r.history), &r.step
	if s.appended || !s.answered && s.text.Len() == 0 {
		return history, r.summary
	}
	m := s.answer()
	if m.Interrupted = !s.answered; m.Interrupted {
		m.ToolCalls = nil // not all of them have come
	}
	return append(history, m), r.summary
}

// prepare reads what the agent did not have in memory, and looks at the owner's
// budget.
func (s *side) prepare(ctx context.Context, life sessions.Incarnation) error {
	if s.history == nil {
		var err error
		if s.history, s.summary, err = s.deps.conversationOf(ctx, life); err != nil {
			return goneMeans(err)
		}
	}
	if s.inference == nil {
		latest, err := s.deps.store.Turns(ctx, life, sessions.TurnQuery{Limit: 1})
		if err != nil {
			return goneMeans(err)
		}
		asked := s.profile.inference(sessions.Inference{})
		if len(latest.Turns) > 0 {
			asked = latest.Turns[0].Inference
		}
		s.inference = &asked
	}
	return s.deps.overDay(ctx, s.ident.owner)
}

// goneMeans makes SESSION_DELETED of the error of a read of a life that is over.
func goneMeans(err error) error {
	if errors.Is(err, sessions.ErrLifeOver) || errors.Is(err, sessions.ErrFenced) {
		return errDeleted()
	}
	return err
}

// input is the conversation with the question behind it. It begins with what the
// turn's own model call is sent, so that a provider's cache has it.
func (s *side) input() []sessions.Message {
	messages := slices.Clip(s.summary.Over(s.history))
	stub, _ := json.Marshal(sideStub) // a string always marshals
	for _, call := range sessions.OpenCalls(s.history) {
		messages = append(messages, sessions.Message{
			Role: sessions.RoleTool, ToolCallID: call.ID, Content: []sessions.Content{{Type: sessions.ContentJSON, Value: stub}},
		})
	}
	return append(messages, sessions.Message{
		Role: sessions.RoleUser, Content: sessions.Text(s.question.Question + "\n\n" + sideNote),
	})
}
