package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/host/api"
)

func (a *app) askCommand() *cobra.Command {
	var at addressFlags
	var json bool
	command := &cobra.Command{
		Use:   "ask QUESTION | -",
		Short: "Ask about a conversation without adding to it",
		Long: `Ask the model of a session about its conversation, also while it works on a
prompt, and print the answer. "-" reads the question from stdin. Neither question
nor answer becomes part of the conversation, and no tools are run. A session has
one such question at a time: the next one, or SIGINT, ends it.`,
		Args: cobra.ExactArgs(1),
		RunE: a.does(func(ctx context.Context, args []string) error { return a.askAside(ctx, &at, args[0], json) }),
	}
	at.add(command)
	jsonFlag(command, &json)
	a.hostFlag(command)
	return command
}

// askAside asks a side question and prints its answer.
func (a *app) askAside(ctx context.Context, at *addressFlags, question string, json bool) error {
	session, err := at.address(nil)
	if err != nil {
		return err
	}
	if question == "-" {
		all, err := a.readPrompt()
		if err != nil {
			return err
		}
		question = strings.TrimSuffix(all, "\n")
	}
	if strings.TrimSpace(question) == "" {
		return usagef("the question is empty")
	}
	return a.withHost(ctx, func(conn *connection) error {
		got, err := conn.SideQuestion(ctx, api.SideQuestionArgs{Address: session, Question: question})
		if err != nil {
			return err
		}
		if json {
			return a.printJSON(got)
		}
		_, err = fmt.Fprintln(a.stdout, strings.TrimSuffix(printable(got.Text), "\n"))
		return err
	})
}
