package model

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"agenthost/persistence/sqlite"
)

var (
	histories = flag.Int("histories", 2_000, "how many random histories TestVolumeHistories runs")
	rounds    = flag.Int("rounds", 200, "how often each race is run, and how many concurrent histories there are")
)

// workshop is a folder that lasts as long as the test program; template is a
// store in it without sessions, which spares each history the migrations.
var workshop, template string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // the main of a test program
}

func run(m *testing.M) (code int, err error) {
	if workshop, err = os.MkdirTemp("", "model"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(workshop)
	template = filepath.Join(workshop, "template.db")
	store, err := sqlite.Open(context.Background(), template, sqlite.Config{})
	if err != nil {
		return 0, err
	}
	if err := store.Close(); err != nil {
		return 0, err
	}
	if code = m.Run(); code != 0 {
		return code, nil
	}
	return 0, goleak.Find()
}

// checks makes rapid run n histories, unless the command line says how many.
func checks(t *testing.T, n int) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if given {
		return
	}
	was := flag.Lookup("rapid.checks").Value.String()
	setFlag(t, "rapid.checks", strconv.Itoa(n))
	t.Cleanup(func() { setFlag(t, "rapid.checks", was) })
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}
