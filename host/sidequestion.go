package host

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"agenthost/actors"
	"agenthost/host/api"
)

// SideQuestion asks the model of a session about its conversation so far, that of
// a turn under way included, and adds nothing to it. The model is asked once, with
// the same input as the turn, and runs no tools. A session has one side question at
// a time: the next one ends it with CANCELLED, and so does the end of ctx, whose
// error is returned then.
func (a *Access) SideQuestion(ctx context.Context, args *api.SideQuestionArgs) (*api.SideQuestionResult, error) {
	if err := a.check(args); err != nil {
		return nil, err
	}
	answer, err := a.host.system.SideQuestion(ctx, actors.SideQuestion{
		Owner: a.owner(args.Owner), At: args.At(), Question: args.Question, Trace: trace.SpanContextFromContext(ctx),
	})
	if err != nil {
		return nil, err
	}
	return &api.SideQuestionResult{Text: answer.Text, Usage: answer.Usage}, nil
}
