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
	var result *api.PromptResult
	err := c.cancelling(ctx, api.CancelArgs{Address: args.Address, RequestID: args.RequestID}, func() (err error) {
		result, err = c.Prompt(ctx, args, onFrame)
		return err
	})
	return result, err
}

// cancelling does what waits for a turn, and cancels the turn at SIGINT; a second one
// ends the process.
func (c *connection) cancelling(ctx context.Context, cancel api.CancelArgs, do func() error) error {
	interrupted, stop := signal.NotifyContext(ctx, syscall.SIGINT)
	defer stop()
	cancelled := make(chan struct{})
	unhook := context.AfterFunc(interrupted, func() {
		defer close(cancelled)
		stop()
		if ctx.Err() == nil {
			// Should it fail, what is waited for says why.
			_, _ = c.Cancel(ctx, cancel)
		}
	})
	err := do()
	if !unhook() {
		<-cancelled
	}
	return err
}
