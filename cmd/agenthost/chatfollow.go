package main

import (
	"cmp"
	"context"

	"agenthost/host/api"
	"agenthost/sessions"
)

// followTurn shows how the turn of a prompt goes on until it waits for clients or has
// ended, and returns what it waits for. That it ended badly is its error. SIGINT
// cancels it.
func (a *app) followTurn(ctx context.Context, conn *connection, of api.PromptArgs, id sessions.TurnID, printer *framePrinter) ([]sessions.Pending, error) {
	stop, err := a.showFrames(ctx, conn, of.Address, id, printer)
	if err != nil {
		return nil, err
	}
	var result *api.TurnResult
	err = conn.cancelling(ctx, api.CancelArgs{Address: of.Address, RequestID: of.RequestID}, func() (err error) {
		result, err = conn.Turn(ctx, api.TurnArgs{Address: of.Address, TurnID: id, Wait: api.WaitPending})
		return err
	})
	stop()
	if err != nil {
		return nil, err
	}
	if err := a.showMissed(ctx, conn, of.Address, id, printer); err != nil {
		return nil, err
	}
	return result.Pending, endOfTurn(result.Turn.Turn)
}

// showFrames has a printer show the frames of a turn as they come, from the last one
// that it knows, until stop.
func (a *app) showFrames(ctx context.Context, conn *connection, at api.Address, id sessions.TurnID, printer *framePrinter) (stop func(), err error) {
	sub, err := conn.Subscribe(ctx, api.SubscribeArgs{Address: at, After: printer.after()})
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			// What an end of the subscription leaves out is read afterwards.
			frame, err := sub.Next(ctx)
			if err != nil || frame.TurnID == id && printer.print(frame) != nil {
				return
			}
		}
	}()
	return func() {
		sub.Close()
		<-done
	}, nil
}

// showMissed has a printer show the kept frames of a turn that it does not know.
func (a *app) showMissed(ctx context.Context, conn *connection, at api.Address, id sessions.TurnID, printer *framePrinter) error {
	for after := printer.after(); ; {
		page, err := conn.Frames(ctx, api.FramesArgs{Address: at, After: after})
		if err != nil {
			return err
		}
		for _, frame := range page.Frames {
			after = cmp.Or(frame.Cursor, after)
			if frame.TurnID != id {
				continue
			}
			if err := printer.print(frame); err != nil {
				return err
			}
		}
		if !page.HasMore || len(page.Frames) == 0 {
			return printer.endLine()
		}
	}
}

// endOfTurn is the error of a turn that ended badly.
func endOfTurn(turn sessions.Turn) error {
	switch {
	case turn.Error != nil:
		return turn.Error.Err()
	case turn.Status == sessions.TurnIsCancelled:
		return sessions.Errorf(sessions.CodeCancelled, "The turn was cancelled.").With("turnId", turn.TurnID)
	default:
		return nil
	}
}
