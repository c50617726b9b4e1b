package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/sessions"
	"agenthost/tools/mcp/mcptest"
)

// patience is how long a fact may take to come true on a slow machine.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agenthost": main, "mcptest": func() {
		os.Exit(mcptest.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) //nolint:forbidigo // the main of a program
	}})
}

// raceOptions lets processes under the race detector end at once, where it would
// have each wait a second.
const raceOptions = "GORACE=atexit_sleep_ms=0"

// TestScripts runs the scripts of testdata/script. Each has a folder and a port
// of its own, where no host listens until it starts one. Beside the commands of
// testscript they use
//
//	up [SOCKET]    wait until a host answers there
//	listens PLACE  wait until somebody listens at an address
//	busy TARGET    wait until a session of the host runs a turn
//	await RE FILE  wait until a file matches
//	gone FILE      wait until the process whose number is in a file is no more
//	exits N ARG…   run a program that exits with N
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			address := freeAddress(t)
			env.Setenv("ADDRESS", address)
			env.Setenv("MCP", freeAddress(t))
			env.Setenv("AGENTHOST_LISTEN", address)
			env.Vars = append(env.Vars, raceOptions)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up": func(ts *testscript.TestScript, _ bool, args []string) {
				address := ts.Getenv("ADDRESS")
				if len(args) > 0 {
					address = "unix://" + ts.MkAbs(args[0])
				}
				ts.Check(await(func() bool { return call(address, func(*client.Client) bool { return true }) }))
			},
			"listens": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(await(func() bool {
					conn, err := net.Dial("tcp", args[0])
					return err == nil && conn.Close() == nil
				}))
			},
			"busy": func(ts *testscript.TestScript, _ bool, args []string) {
				at := api.SessionGetArgs{Address: api.Address{TargetKey: args[0]}}
				ts.Check(await(func() bool {
					return call(ts.Getenv("ADDRESS"), func(c *client.Client) bool {
						got, err := c.SessionGet(context.Background(), at)
						return err == nil && got.Session.Status == sessions.StatusRunning
					})
				}))
			},
			"unask": func(ts *testscript.TestScript, _ bool, args []string) {
				aside := api.CancelArgs{Address: api.Address{TargetKey: args[0]}, SideQuestion: true}
				ts.Check(await(func() bool {
					return call(ts.Getenv("ADDRESS"), func(c *client.Client) bool {
						got, err := c.Cancel(context.Background(), aside)
						return err == nil && got.Cancelled
					})
				}))
			},
			"await": func(ts *testscript.TestScript, _ bool, args []string) {
				want := regexp.MustCompile(args[0])
				ts.Check(await(func() bool {
					text, err := os.ReadFile(ts.MkAbs(args[1]))
					return err == nil && want.Match(text)
				}))
			},
			"gone": func(ts *testscript.TestScript, _ bool, args []string) {
				pid, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(ts.ReadFile(args[0])))
				ts.Check(err)
				ts.Check(await(func() bool {
					stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
					return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
				}))
			},
			"exits": func(ts *testscript.TestScript, _ bool, args []string) {
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				if got := exitCode(ts.Exec(args[1], args[2:]...)); got != want {
					ts.Fatalf("%q exits with %d, not %d", args[1:], got, want)
				}
			},
		},
	})
}

// freeAddress returns an address on which nothing listens. Each has a loopback IP
// of its own, so that no other listener and no connection takes the port before
// it is used.
func freeAddress(t *testing.T) string {
	t.Helper()
	pid, n := os.Getpid(), addresses.Add(1)
	listener, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>8%254, pid%256, 1+n%254))
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

var addresses atomic.Int64

func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// call asks a host, and returns false when there is none.
func call(address string, ask func(*client.Client) bool) bool {
	c, err := client.Dial(context.Background(), address, client.Config{})
	if err != nil {
		return false
	}
	defer c.Close()
	return ask(c)
}

// await waits until a fact holds.
func await(holds func() bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			return errors.New("what was awaited has not come")
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}
