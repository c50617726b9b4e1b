package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agenthost/host/api"
	"agenthost/sessions"
)

// finishWaiting asks the user for what a turn waits for, and shows its end.
func (a *app) finishWaiting(ctx context.Context, conn *connection, lines lineReader, at api.Address, waits *api.PromptResult) error {
	pending := waits.Pending
	for {
		for _, p := range pending {
			args, err := a.askFor(ctx, lines, p)
			if err != nil {
				return err
			}
			args.Address, args.CallID = at, p.CallID
			if _, err := conn.Answer(ctx, args); err != nil {
				return err
			}
		}
		got, err := conn.Turn(ctx, api.TurnArgs{Address: at, TurnID: waits.TurnID, Wait: api.WaitPending})
		if err != nil {
			return err
		}
		if got.Turn.Status != sessions.TurnIsWaiting {
			return a.printEnd(got.Turn)
		}
		session, err := conn.SessionGet(ctx, api.SessionGetArgs{Address: at})
		if err != nil {
			return err
		}
		pending = session.Session.Pending
	}
}

// askFor asks the user for one answer, until it is one.
func (a *app) askFor(ctx context.Context, lines lineReader, p sessions.Pending) (api.AnswerArgs, error) {
	ask := fmt.Sprintf("%s wants to run with %s. Approve? y or n", p.Path, p.Args)
	if p.Kind == sessions.PendingClientTool {
		ask = fmt.Sprintf("%s is called with %s. Its output, as JSON:", p.Path, p.Args)
	}
	for {
		a.complain("%s", oneLine(ask, tableWidth))
		line, err := a.nextPrompt(ctx, lines)
		if err != nil {
			return api.AnswerArgs{}, err
		}
		switch answer := strings.ToLower(line); {
		case p.Kind == sessions.PendingClientTool && json.Valid([]byte(line)):
			return api.AnswerArgs{Output: json.RawMessage(line)}, nil
		case p.Kind == sessions.PendingApproval && (answer == "y" || answer == "yes"):
			return api.AnswerArgs{Approve: new(true)}, nil
		case p.Kind == sessions.PendingApproval && (answer == "n" || answer == "no"):
			return api.AnswerArgs{Approve: new(false)}, nil
		}
	}
}

// printEnd shows what a turn that was waited for has come to.
func (a *app) printEnd(turn api.TurnWithAnswer) error {
	if turn.Error != nil {
		return turn.Error.Err()
	}
	if turn.Message == nil {
		a.complain("the turn was %s", turn.Status)
		return nil
	}
	_, err := fmt.Fprintln(a.stdout, strings.TrimSuffix(printable(sessions.TextOf(turn.Message.Content)), "\n"))
	return err
}
