package main

import (
	"context"
	"io"
	"log/slog"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// app is one run of the command: what it was started with, and the flags that
// all commands share.
type app struct {
	name   string   // as the user typed it
	env    []string // NAME=value
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	config   string   // --config
	db       string   // --db
	set      []string // --set
	host     string   // --host
	keyFile  string   // --key-file
	logLevel string   // --log-level, as it was typed
	level    slog.Level

	began bool // a command took over; what failed before was its use
}

// run is the whole program: it runs the command in args, whose first element is
// the program's name, until it is done or ctx ends, and returns the exit code.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{name: args[0], env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.rootCommand()
	root.SetArgs(args[1:])
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if i := slices.IndexFunc(args, func(arg string) bool { return !utf8.ValidString(arg) }); i >= 0 {
		return a.report(root, usagef("argument %d is not valid UTF-8", i)) // it would be sent as another text
	}
	command, err := root.ExecuteContextC(ctx)
	return a.report(command, err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "agenthost",
		Short:         "Host agent sessions that last",
		Long:          rootHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	chooses(root)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVar(&a.config, "config", "", "configuration `file` (default agenthost.yaml, if it is there)")
	flags.StringVar(&a.db, "db", "", "database, as a `path` or sqlite:path (default agenthost.db)")
	flags.StringArrayVar(&a.set, "set", nil, "set one `setting=value` of the configuration; may be repeated")
	flags.StringVar(&a.logLevel, "log-level", "warn", "the lowest `level` that is logged to stderr: debug, info, warn or error")
	root.AddCommand(
		a.serveCommand(), a.promptCommand(), a.chatCommand(), a.sessionsCommand(), a.cancelCommand(), a.answerCommand(), a.askCommand(), a.usageCommand(),
		a.purgeCommand(), a.keysCommand(), a.toolsCommand(), a.configCommand(), a.versionCommand(), a.searchCommand(),
	)
	return root
}

const rootHelp = `Host agent sessions that last.

"agenthost serve" runs a host; the other commands talk to one. They look for it
at --host or AGENTHOST_URL, else where the configuration says that a host listens
(127.0.0.1:7777). When nothing listens there they open the database themselves,
for as long as they run, and say so.

With --json a command prints one JSON value to stdout, lists and streams one a
line, and nothing else.

Exit codes: 0 done, 1 the operation failed ("CODE: message" on stderr),
2 wrong use of the command, 3 no host is reachable.`

// action is what a command does once its flags and arguments are in order.
type action func(ctx context.Context, args []string) error

// does makes an action the work of a command. SIGINT ends its context.
func (a *app) does(act action) func(*cobra.Command, []string) error {
	return a.doesUninterrupted(func(ctx context.Context, args []string) error {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT)
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		return act(ctx, args)
	})
}

// doesUninterrupted is does for a command that sees to SIGINT itself.
func (a *app) doesUninterrupted(act action) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := checkPlaces(c); err != nil {
			return err
		}
		if err := a.level.UnmarshalText([]byte(a.logLevel)); err != nil {
			return usagef("--log-level is %q, but must be debug, info, warn or error", a.logLevel)
		}
		a.began = true
		return act(c.Context(), args)
	}
}

// checkPlaces refuses an empty name of a place, most often a variable of a script
// that is not set: the default may be what the script is to stay away from.
func checkPlaces(c *cobra.Command) error {
	for _, name := range []string{"config", "db", "host", "key-file"} {
		if flag := c.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			return usagef("--%s is empty; leave it out for its default", name)
		}
	}
	return nil
}

// getenv returns a variable of the environment, "" if it is not set.
func (a *app) getenv(name string) string {
	for _, variable := range a.env {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}
