// Command agenthost hosts agent sessions, and is a client to such hosts.
//
// Each file holds one family of commands or one thing they share: wire.go puts a
// host together from the configuration, connect.go finds the host that a command
// talks to, and the files named after commands are those commands. "agenthost
// help" is the reference.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	// Once the first signal is heard, the second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
