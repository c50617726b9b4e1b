package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"agenthost/host/api"
	"agenthost/sessions"
)

// jsonFlag adds the flag --json.
func jsonFlag(command *cobra.Command, asJSON *bool) {
	command.Flags().BoolVar(asJSON, "json", false, "print JSON and nothing else")
}

// printJSON writes a value as one line of JSON.
func (a *app) printJSON(value any) error {
	line, err := api.Encode(value)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(line, '\n'))
	return err
}

// printLines writes values as JSON, one a line.
func printLines[T any](a *app, values []T) error {
	for _, value := range values {
		if err := a.printJSON(value); err != nil {
			return err
		}
	}
	return nil
}

// isTerminal reports whether a stream of the process is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// dim returns text as it is written to w: faint where colours are welcome.
func (a *app) dim(w io.Writer, text string) string {
	if !isTerminal(w) || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}

// printable returns text without what a terminal would take for a command. Line
// ends and tabs stay.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		if unicode.Is(unicode.Cf, r) && r != '\u061c' && (r < '\u202a' || r > '\u202e') && (r < '\u2066' || r > '\u2069') {
			return r // such as joiners, but nothing that turns the direction of writing
		}
		return -1
	}, text)
}

// oneLine returns text for a place of one line and at most width characters.
func oneLine(text string, width int) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(0, width-1)]) + "…"
}

// ago says how long ago an instant was, in the largest unit that fits.
func ago(t sessions.Time) string {
	const day = 24 * time.Hour
	switch d := time.Since(t.Std()); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	default:
		return fmt.Sprintf("%dd ago", d/day)
	}
}

// counted writes a number of things.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
