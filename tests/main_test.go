package tests

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// update says that generated files and transcripts are written, not compared.
var update = flag.Bool("update", false, "write what the tests would compare with")

func TestMain(m *testing.M) {
	if file := os.Getenv(childEnv); file != "" {
		fmt.Fprintln(os.Stderr, "child host:", runChild(file, os.Stdout))
		return
	}
	// net/http lingers half a second before it closes a connection whose body it
	// did not read.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
