package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/sessions"
)

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// wire speaks to the HTTP door of a host that comes and goes, without a client
// library between the test and what was sent.
type wire struct {
	url  string
	http *http.Client
}

func newWire(url string) *wire {
	return &wire{url: url, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

// wireTo returns a wire that is closed with the test.
func wireTo(t *testing.T, url string) *wire {
	t.Helper()
	w := newWire(url)
	t.Cleanup(w.http.CloseIdleConnections)
	return w
}

// send makes one request. With onFrame it asks for events, and passes on the
// numbered frames that come before the reply, or before the connection is cut.
func (w *wire) send(ctx context.Context, op api.Op, args any, onFrame func(sessions.Frame)) (api.Reply, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return api.Reply{}, err
	}
	body, err := json.Marshal(api.Request{Op: op, Args: raw})
	if err != nil {
		return api.Reply{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v1/call", bytes.NewReader(body))
	if err != nil {
		return api.Reply{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if onFrame != nil {
		request.Header.Set("Accept", "text/event-stream")
	}
	response, err := w.http.Do(request)
	if err != nil {
		return api.Reply{}, err
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return readEvents(response.Body, onFrame)
	}
	var reply api.Reply
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return reply, err
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return reply, fmt.Errorf("the answer is no reply: %w: %s", err, data)
	}
	return reply, nil
}

// readEvents reads events up to the reply.
func readEvents(from io.Reader, onFrame func(sessions.Frame)) (api.Reply, error) {
	var name string
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return api.Reply{}, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case field == "event":
			name = value
		case field == "data" && name == "reply":
			var reply api.Reply
			return reply, json.Unmarshal([]byte(value), &reply)
		case field == "data" && name == "frame":
			var frame sessions.Frame
			if err := json.Unmarshal([]byte(value), &frame); err != nil {
				return api.Reply{}, err
			}
			onFrame(frame)
		}
	}
}

// codeOf is the code of a reply's error, "" if there is none.
func codeOf(reply api.Reply) sessions.Code { return sessions.CodeOf(reply.Err()) }

// fetch makes a request that must be answered and be OK, and decodes its result.
func fetch[R any](t *testing.T, w *wire, op api.Op, args any) R {
	t.Helper()
	result, err := ask[R](waiting(t), w, op, args)
	require.NoError(t, err)
	return result
}

// ask makes a request and decodes its result.
func ask[R any](ctx context.Context, w *wire, op api.Op, args any) (R, error) {
	var result R
	reply, err := w.send(ctx, op, args, nil)
	if err != nil {
		return result, err
	}
	if err := reply.Err(); err != nil {
		return result, err
	}
	return result, json.Unmarshal(reply.Result, &result)
}

// refused makes a request that must be answered with an error.
func refused(t *testing.T, w *wire, op api.Op, args any) *sessions.Error {
	t.Helper()
	reply, err := w.send(waiting(t), op, args, nil)
	require.NoError(t, err)
	require.False(t, reply.OK, "%s", reply.Result)
	return sessions.AsError(reply.Err())
}

// isCut reports whether an error is that of a connection, not of this test.
func isCut(err error) bool {
	return err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// history returns all messages of a session.
func history(t *testing.T, w *wire, at api.Address) []sessions.Message {
	t.Helper()
	var all []sessions.Message
	for {
		after := int64(len(all))
		page := fetch[api.MessagesResult](t, w, api.OpMessages, api.MessagesArgs{Address: at, AfterSeq: &after, Limit: new(1000)})
		all = append(all, page.Messages...)
		if !page.HasMore {
			return all
		}
	}
}

// frames returns all kept frames of a session.
func frames(t *testing.T, w *wire, at api.Address) []sessions.Frame {
	t.Helper()
	var all []sessions.Frame
	args := api.FramesArgs{Address: at, Limit: new(1000)}
	for {
		page := fetch[api.FramesResult](t, w, api.OpFrames, args)
		all = append(all, page.Frames...)
		if !page.HasMore {
			return all
		}
		args.After = all[len(all)-1].Cursor
	}
}

// texts returns what one side said, in order.
func texts(of []sessions.Message, role sessions.Role) []string {
	var said []string
	for _, m := range of {
		if m.Role == role && len(m.Content) > 0 {
			said = append(said, sessions.TextOf(m.Content))
		}
	}
	return said
}

// byKey addresses the session of a key.
func byKey(key string) api.Address { return api.Address{TargetKey: key} }
