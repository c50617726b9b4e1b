package mcptest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The ways to run, as the first argument of Run.
const (
	Stdio    = "stdio"    // serve the standard input, until it ends
	Chatty   = "chatty"   // the same, with lines on the standard output that are no messages
	Broken   = "broken"   // print what looks like a message and is none, then wait
	Bare     = "bare"     // serve no tools, and know no request about them
	Silent   = "silent"   // read, and never answer
	Stubborn = "stubborn" // serve, and go on after the end of the input and after SIGTERM
	// HTTP serves streamable HTTP at the address that is the second argument, and
	// Stateless does without sessions, as new versions of the protocol do.
	HTTP      = "http"
	Stateless = "stateless"
)

// Run runs the server. The first argument says how, stdio if there is none. It
// returns what the process is to exit with.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	mode := Stdio
	if len(args) > 0 {
		mode = args[0]
	}
	fmt.Fprintln(stderr, "mcptest serves", mode)
	if err := run(mode, args, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func run(mode string, args []string, stdin io.Reader, stdout io.Writer) error {
	forever := time.After(time.Hour)
	switch mode {
	case Chatty:
		fmt.Fprintln(stdout, "Welcome to a server that talks!")
		fmt.Fprintln(stdout, `{"level":"info","message":"neither is this a message"}`)
	case Broken:
		fmt.Fprintln(stdout, `{"jsonrpc":"2.0","id":[],"method":7}`)
		<-forever
	case Bare:
		return serve(bare(), stdin, stdout)
	case Silent:
		_, err := io.Copy(io.Discard, stdin)
		return err
	case Stubborn:
		signal.Ignore(syscall.SIGTERM)
		_ = serve(New(), stdin, stdout)
		<-forever
	case HTTP, Stateless:
		server := New()
		handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
			&sdk.StreamableHTTPOptions{Stateless: mode == Stateless})
		return http.ListenAndServe(args[1], handler) //nolint:gosec // for a test, which waits for no slow client
	}
	return serve(New(), stdin, stdout)
}

func serve(server *sdk.Server, stdin io.Reader, stdout io.Writer) error {
	return server.Run(context.Background(), &sdk.IOTransport{Reader: io.NopCloser(stdin), Writer: kept{stdout}})
}

// bare returns a server that answers requests about tools as one that knows none.
func bare() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "bare", Version: "1"}, nil)
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "tools/list" {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
			}
			return next(ctx, method, req)
		}
	})
	return s
}

// kept is a writer that stays open.
type kept struct{ io.Writer }

// Close does nothing.
func (kept) Close() error { return nil }
