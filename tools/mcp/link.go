package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// protocols are the versions to begin with, in order. The old handshake comes
// first: every server knows it, and some break down when they are asked anything
// before it. A server that refuses it is asked as new ones may insist on.
var protocols = []string{"2025-11-25", ""}

// maxTools is how many tools of one server are taken.
const maxTools = 1000

// link is one session with a server. It begins whole, breaks once, and is closed
// by the one who made it.
type link struct {
	session *sdk.ClientSession
	process *process // nil over HTTP
	cutWire func()   // ends what HTTP requests are left
	changed chan struct{}

	breaks sync.Once
	broken chan struct{}
	cause  error // why, once broken is closed

	work sync.WaitGroup // calls, and the watch of the session
}

// connect starts a session with the server.
func (s *server) connect(ctx context.Context) (*link, error) {
	var err error
	for _, version := range protocols {
		var l *link
		if l, err = s.open(ctx, version); err == nil {
			return l, nil
		}
		if !isAnswer(err) {
			break
		}
	}
	return nil, err
}

func (s *server) open(ctx context.Context, version string) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.StartTimeout,
		fmt.Errorf("it gave no answer within %s", s.config.StartTimeout))
	defer cancel()
	l := &link{changed: make(chan struct{}, 1), broken: make(chan struct{})}
	transport, err := s.transport(l)
	if err != nil {
		return nil, err
	}
	// The SDK's wait for the stream of an HTTP server does not end with ctx.
	defer context.AfterFunc(ctx, l.cutWire)()
	client := sdk.NewClient(&sdk.Implementation{Name: "agenthost", Version: s.config.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case l.changed <- struct{}{}:
			default: // the list is to be read already
			}
		},
	})
	l.session, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		l.close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, l.explained(err)
	}
	l.work.Go(func() {
		err := l.session.Wait()
		if err == nil {
			err = errors.New("the server ended the session")
		}
		l.fail(err)
	})
	return l, nil
}

// transport makes the way to the server, and starts its process if it has one.
func (s *server) transport(l *link) (sdk.Transport, error) {
	if s.about.URL != "" {
		client, cut := newHTTPClient(s.about.URL, s.about.Key, s.config.StopGrace)
		l.cutWire = cut
		return &sdk.StreamableClientTransport{Endpoint: s.about.URL, HTTPClient: client, MaxEventSize: maxMessage}, nil
	}
	p, err := startProcess(s.about.Command, s.about.Env, s.config.StopGrace, s.log)
	if err != nil {
		return nil, err
	}
	l.process, l.cutWire = p, func() {}
	return &sdk.IOTransport{Reader: newMessages(p.stdout, s.log), Writer: p.stdin, MaxLineLength: -1}, nil
}

// fail breaks the link, for the first cause that is given.
func (l *link) fail(cause error) {
	l.breaks.Do(func() {
		l.cause = cause
		close(l.broken)
	})
}

func (l *link) isBroken() bool {
	select {
	case <-l.broken:
		return true
	default:
		return false
	}
}

// close ends the session and the process, and returns when both are gone and no
// call is under way.
func (l *link) close() {
	l.fail(errParted)
	if l.process != nil {
		l.process.stop()
	}
	if l.session != nil {
		_ = l.session.Close() // nothing is left to be done about its error
	}
	l.cutWire()
	l.work.Wait()
}

// explained adds to the reason for the end of a session how its process failed,
// once the link is closed.
func (l *link) explained(err error) error {
	if l.process == nil || l.process.fate == "" {
		return err
	}
	return fmt.Errorf("its process failed: %s: %w", l.process.fate, err)
}

// list asks for the server's tools, maxTools at most. A server that has none may
// not know the request.
func (l *link) list(ctx context.Context) ([]*sdk.Tool, error) {
	var listed []*sdk.Tool
	for tool, err := range l.session.Tools(ctx, &sdk.ListToolsParams{}) {
		if err != nil {
			if caps := l.session.InitializeResult().Capabilities; isAnswer(err) && (caps == nil || caps.Tools == nil) {
				return nil, nil
			}
			return nil, fmt.Errorf("its tools are not listed: %w", err)
		}
		if listed = append(listed, tool); len(listed) == maxTools {
			break
		}
	}
	return listed, nil
}

// call makes one call, and returns when its context ends or the servers are
// halted, even while the server takes no requests.
func (l *link) call(ctx context.Context, params *sdk.CallToolParams, halted <-chan struct{}) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		result *sdk.CallToolResult
		err    error
	}
	answers := make(chan answer, 1)
	l.work.Go(func() {
		result, err := l.session.CallTool(ctx, params)
		answers <- answer{result, err}
	})
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-halted:
		return nil, errHalted
	}
}
