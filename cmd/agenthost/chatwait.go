package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"agenthost/host/api"
	"agenthost/sessions"
)

// errLeft says that the user has left while a turn waits.
var errLeft = errors.New("the user has left; the turn goes on waiting")

// promptInChat shows the turn of a prompt as it comes, and asks the user whenever it
// waits. With errLeft it goes on waiting.
func (a *app) promptInChat(ctx context.Context, conn *connection, lines lineReader, args api.PromptArgs) error {
	args.RequestID, args.Wait = sessions.RequestID(uuid.NewString()), api.WaitPending
	printer := a.newFramePrinter()
	result, err := a.promptWith(ctx, conn, args, printer)
	if err != nil || result.Status != api.PromptWaiting {
		return err
	}
	for pending := result.Pending; len(pending) > 0; {
		if err := a.askUser(ctx, conn, lines, args, pending[0]); err != nil {
			return err
		}
		// The prompt is not sent again: when its turn has ended and its request is
		// forgotten, that would be another turn.
		if pending, err = a.followTurn(ctx, conn, args, result.TurnID, printer); err != nil {
			return err
		}
	}
	return nil
}

// askUser asks the user about a call that waits, and does what he says. That another
// client was faster is no reason to end the chat.
func (a *app) askUser(ctx context.Context, conn *connection, lines lineReader, of api.PromptArgs, p sessions.Pending) error {
	args, err := a.askFor(ctx, lines, p)
	switch {
	case errors.Is(err, io.EOF):
		return errLeft
	case errors.Is(err, errToCancel):
		_, err = conn.Cancel(ctx, api.CancelArgs{Address: of.Address, RequestID: of.RequestID})
		return err
	case err != nil:
		return err
	}
	args.Address, args.CallID = of.Address, p.CallID
	_, err = conn.Answer(ctx, args)
	switch sessions.CodeOf(err) {
	case sessions.CodeConflict, sessions.CodeNotFound, sessions.CodeInvalidRequest, sessions.CodePayloadTooLarge:
		a.complain("%s", describe(err))
		return nil
	default:
		return err
	}
}

// errToCancel says that the user wants the turn cancelled instead.
var errToCancel = errors.New("the user cancels the turn")

// askFor asks the user for one answer, until it is one. The call is shown whole:
// nobody should approve what he cannot read.
func (a *app) askFor(ctx context.Context, lines lineReader, p sessions.Pending) (api.AnswerArgs, error) {
	ask := fmt.Sprintf("%s wants to run with %s. Approve? y or n, or c to cancel the turn", p.Path, p.Args)
	if p.Kind == sessions.PendingClientTool {
		ask = fmt.Sprintf("%s is called with %s. Its output, as JSON, or c to cancel the turn:", p.Path, p.Args)
	}
	for {
		a.complain("%s", printable(ask))
		line, err := a.nextPrompt(ctx, lines)
		if err != nil {
			return api.AnswerArgs{}, err
		}
		switch answer := strings.ToLower(line); {
		case answer == "c":
			return api.AnswerArgs{}, errToCancel
		case p.Kind == sessions.PendingClientTool && json.Valid([]byte(line)):
			return api.AnswerArgs{Output: json.RawMessage(line)}, nil
		case p.Kind == sessions.PendingApproval && (answer == "y" || answer == "yes"):
			return api.AnswerArgs{Approve: new(true)}, nil
		case p.Kind == sessions.PendingApproval && (answer == "n" || answer == "no"):
			return api.AnswerArgs{Approve: new(false)}, nil
		}
	}
}
