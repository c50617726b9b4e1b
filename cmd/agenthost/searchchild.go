package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"agenthost/cmd/agenthost/search"
)

// searchName is the command that a searching child process runs.
const searchName = "search-files"

// searchCommand reads an order to search from stdin, so that the texts are not to
// be seen in the list of processes, and prints the report.
func (a *app) searchCommand() *cobra.Command {
	return &cobra.Command{
		Use:    searchName,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: a.does(func(ctx context.Context, _ []string) error {
			var order search.Order
			if err := json.NewDecoder(a.stdin).Decode(&order); err != nil {
				return usagef("the order to search is no JSON: %s", err)
			}
			report, err := search.Run(ctx, order)
			if err != nil {
				return err
			}
			return a.printJSON(report)
		}),
	}
}

// searchInChild searches files in a process of its own: this one may have the
// store open, and would drop its locks by closing a file of it.
func (a *app) searchInChild(ctx context.Context, order search.Order) (search.Report, error) {
	var report search.Report
	program, err := os.Executable()
	if err != nil {
		return report, err
	}
	in, err := json.Marshal(order)
	if err != nil {
		return report, err
	}
	child := exec.CommandContext(ctx, program, searchName)
	child.Args[0], child.Env, child.Stdin = a.name, a.env, bytes.NewReader(in)
	var errs bytes.Buffer
	child.Stderr = &errs
	out, err := child.Output()
	switch {
	case ctx.Err() != nil:
		return report, context.Cause(ctx)
	case err != nil:
		return report, fmt.Errorf("the search failed: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	return report, json.Unmarshal(out, &report)
}
