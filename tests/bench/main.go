package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	if side := os.Getenv(childVariable); side != "" {
		exit(serveChild(side, os.Stdin, os.Stdout))
	}
	var o options
	var doc string
	flag.StringVar(&doc, "doc", "", "rewrite the tables in this file as well")
	flag.StringVar(&o.dir, "dir", "", "where databases are made; default the system's temporary folder")
	flag.StringVar(&o.only, "only", "", "run scenarios whose name begins with this")
	flag.StringVar(&o.profiles, "cpuprofile", "", "write CPU profiles of the host at 64 sessions into this folder")
	flag.DurationVar(&o.lap, "lap", 2*time.Second, "how long one lap of load lasts")
	flag.IntVar(&o.sessions, "sessions", 0, "only loads of this many sessions; default all")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of floor and host")
	flag.Parse()
	o.scale = 1
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(runAndReport(ctx, o, doc))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runAndReport(ctx context.Context, o options, doc string) error {
	t, err := run(ctx, o, os.Stderr)
	if err != nil {
		return err
	}
	facts, err := machineFacts(ctx, o.dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%s\n\n%s", facts, t.markdown())
	if doc == "" {
		return nil
	}
	return refresh(doc, facts, t)
}
