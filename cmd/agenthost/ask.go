package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/google/uuid"

	"agenthost/host/api"
	"agenthost/sessions"
)

// ask sends a prompt and waits for its reply. SIGINT cancels the turn; a second
// one ends the process.
func (c *connection) ask(ctx context.Context, args api.PromptArgs, onFrame func(sessions.Frame) error) (*api.PromptResult, error) {
	if args.RequestID == "" {
		args.RequestID = sessions.RequestID(uuid.NewString())
	}
	interrupted, stop := signal.NotifyContext(ctx, syscall.SIGINT)
	defer stop()
	cancelled := make(chan struct{})
	unhook := context.AfterFunc(interrupted, func() {
		defer close(cancelled)
		stop()
		if ctx.Err() == nil {
			// Should it fail, the prompt's own reply says why.
			_, _ = c.Cancel(ctx, api.CancelArgs{Address: args.Address, RequestID: args.RequestID})
		}
	})
	result, err := c.Prompt(ctx, args, onFrame)
	if !unhook() {
		<-cancelled
	}
	return result, err
}
