package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/host/server"
	"agenthost/sessions"
)

// message is anything a socket receives.
type message struct {
	ID     *string             `json:"id"`
	OK     *bool               `json:"ok"`
	Result json.RawMessage     `json:"result"`
	Error  *sessions.ErrorInfo `json:"error"`
	Sub    string              `json:"sub"`
	Frame  *sessions.Frame     `json:"frame"`
	End    *api.End            `json:"end"`
}

func (m message) isReply() bool { return m.OK != nil }

// peer is a client's end of a WebSocket.
type peer struct {
	t    *testing.T
	conn *websocket.Conn
}

func connect(t *testing.T, address string) peer {
	t.Helper()
	conn, response, err := websocket.Dial(t.Context(), "ws://"+address+"/v1/ws", &websocket.DialOptions{
		HTTPClient:   &http.Client{Transport: &http.Transport{}},
		Subprotocols: []string{"agenthost.bearer.a2V5", api.Subprotocol},
	})
	require.NoError(t, err)
	require.Equal(t, api.Subprotocol, response.Header.Get("Sec-WebSocket-Protocol"))
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow() })
	return peer{t, conn}
}

func (p peer) send(format string, args ...any) {
	p.t.Helper()
	require.NoError(p.t, p.conn.Write(p.t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)))
}

func (p peer) receive() message {
	p.t.Helper()
	kind, data, err := p.conn.Read(p.t.Context())
	require.NoError(p.t, err)
	require.Equal(p.t, websocket.MessageText, kind)
	var m message
	require.NoError(p.t, json.Unmarshal(data, &m), string(data))
	return m
}

// refused asserts that the next message is an error reply to id ("" is null).
func (p peer) refused(id string, code sessions.Code) map[string]any {
	p.t.Helper()
	m := p.receive()
	require.NotNil(p.t, m.Error)
	require.Equal(p.t, code, m.Error.Code, m.Error.Message)
	if id == "" {
		require.Nil(p.t, m.ID)
	} else {
		require.Equal(p.t, id, *m.ID)
	}
	return m.Error.Details
}

// answers asserts that the socket still works.
func (p peer) answers() {
	p.t.Helper()
	p.send(`{"id":"still there","op":"$ping"}`)
	m := p.receive()
	require.Equal(p.t, "still there", *m.ID)
	require.True(p.t, *m.OK)
}

// closed reads until the socket is closed and asserts with which code.
func (p peer) closed(code websocket.StatusCode) {
	p.t.Helper()
	for {
		_, _, err := p.conn.Read(p.t.Context())
		if err != nil {
			require.Equal(p.t, code, websocket.CloseStatus(err), err)
			return
		}
	}
}

func TestSocketAnswers(t *testing.T) {
	p := connect(t, start(t, &service{}, server.Config{}))
	p.send(`{"id":"7","op":"$ping"}`)
	_, data, err := p.conn.Read(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"7","ok":true,"result":{"time":"1970-01-01T00:00:00.001Z"}}`, string(data))
}

func TestSocketRefusesAndGoesOn(t *testing.T) {
	p := connect(t, start(t, &service{}, server.Config{}))
	for _, c := range []struct {
		request, id string
		code        sessions.Code
		field       any
	}{
		{`{`, "", sessions.CodeInvalidRequest, nil},
		{`null`, "", sessions.CodeInvalidRequest, nil},
		{`{"op":"$ping"}`, "", sessions.CodeInvalidRequest, "/id"},
		{`{"id":null,"op":"$ping"}`, "", sessions.CodeInvalidRequest, "/id"},
		{`{"id":7,"op":"$ping"}`, "", sessions.CodeInvalidRequest, "/id"},
		{`{"id":"a","id":"b","op":"$ping"}`, "", sessions.CodeInvalidRequest, "/id"},
		{`{"id":"` + strings.Repeat("i", 129) + `","op":"$ping"}`, "", sessions.CodeInvalidRequest, "/id"},
		{`{"id":"7","op":"$ping"}x`, "", sessions.CodeInvalidRequest, nil},
		{`{"id":"7","op":"$ping","op":"$ping"}`, "7", sessions.CodeInvalidRequest, "/op"},
		{`{"id":"7","op":"$fly"}`, "7", sessions.CodeUnknownOp, "/op"},
		{`{"id":"7","op":"$fork"}`, "7", sessions.CodeUnknownOp, "/op"},
		{`{"id":"7","op":"$sessionGet","args":{"x":1}}`, "7", sessions.CodeInvalidRequest, "/args/x"},
		{`{"id":"7","op":"$unsubscribe","args":{"sub":"s1"}}`, "7", sessions.CodeNotFound, nil},
		{"{\"id\":\"7\",\"op\":\"\xff\"}", "7", sessions.CodeInvalidRequest, "/op"},
	} {
		p.send("%s", c.request)
		details := p.refused(c.id, c.code)
		if c.field != nil {
			require.Equal(t, c.field, details["field"], c.request)
		}
		p.answers()
	}
}

func TestSocketClosesOnWhatItCannotTake(t *testing.T) {
	limits := sessions.DefaultLimits()
	limits.EnvelopeBytes = 1000
	began := make(chan struct{})
	address := start(t, &service{do: slowPrompt(began, nil)}, server.Config{Limits: limits})

	t.Run("id in flight used again", func(t *testing.T) {
		p := connect(t, address)
		p.send(promptEnvelope)
		<-began
		p.send(`{"id":"7","op":"$ping"}`)
		p.closed(websocket.StatusPolicyViolation)
	})
	t.Run("binary message", func(t *testing.T) {
		p := connect(t, address)
		require.NoError(t, p.conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"id":"7","op":"$ping"}`)))
		p.closed(websocket.StatusUnsupportedData)
	})
	t.Run("large message", func(t *testing.T) {
		p := connect(t, address)
		p.send(`{"id":"7","op":"$ping"%s}`, strings.Repeat(" ", 1000-23))
		require.True(t, *p.receive().OK, "a message of the limit is taken")
		p.send(`{"id":"7","op":"$ping"%s}`, strings.Repeat(" ", 1001-23))
		p.closed(websocket.StatusMessageTooBig)
	})
	t.Run("much too large message", func(t *testing.T) {
		p := connect(t, address)
		p.send("%s", strings.Repeat("x", 4<<20))
		p.closed(websocket.StatusMessageTooBig)
	})
}

func TestIDIsFreeWithItsReply(t *testing.T) {
	p := connect(t, start(t, &service{}, server.Config{}))
	for range 200 {
		p.send(`{"id":"7","op":"$ping"}`)
		require.True(t, *p.receive().OK)
	}
}

func TestRequestsInFlightAreBounded(t *testing.T) {
	limits := sessions.DefaultLimits()
	limits.RequestsInFlight = 2
	release := make(chan struct{})
	p := connect(t, start(t, &service{do: func(context.Context, api.Caller, any, emitFunc) (any, error) {
		<-release
		return api.PingResult{}, nil
	}}, server.Config{Limits: limits}))
	for _, id := range []string{"1", "2", "3"} {
		p.send(`{"id":%q,"op":"$ping"}`, id)
	}
	require.Equal(t, map[string]any{"limit": "requestsInFlight", "max": 2.0}, p.refused("3", sessions.CodeOverloaded))
	close(release)
	require.True(t, *p.receive().OK)
	require.True(t, *p.receive().OK)
	p.send(`{"id":"3","op":"$ping"}`)
	require.True(t, *p.receive().OK)
}

func TestFaultOfOneRequestIsItsOwn(t *testing.T) {
	var log hosttest.Log
	p := connect(t, start(t, &service{do: func(_ context.Context, _ api.Caller, args any, _ emitFunc) (any, error) {
		if _, bad := args.(*api.PromptArgs); bad {
			panic("secret")
		}
		return api.PingResult{}, nil
	}}, server.Config{Logger: log.Logger()}))
	p.send(promptEnvelope)
	p.refused("7", sessions.CodeInternal)
	require.Contains(t, log.String(), "secret")
	p.answers()
}

func TestCase37EveryFrameComesBeforeItsReply(t *testing.T) {
	const prompts, frames = 64, 50
	p := connect(t, start(t, &service{do: func(_ context.Context, _ api.Caller, _ any, emit emitFunc) (any, error) {
		for seq := range int64(frames) {
			if err := emit(textFrame(seq + 1)); err != nil {
				return nil, err
			}
		}
		return api.PromptResult{Status: api.PromptCompleted}, nil
	}}, server.Config{}))
	for i := range prompts {
		p.send(`{"id":"%d","op":"$prompt","args":{"sessionId":"a","text":"x","stream":true}}`, i)
	}
	got := map[string]int64{}
	for replies := 0; replies < prompts; {
		m := p.receive()
		if m.isReply() {
			require.EqualValues(t, frames, got[*m.ID], "all frames of request %s were before its reply", *m.ID)
			replies++
			continue
		}
		got[*m.ID]++
		require.Equal(t, got[*m.ID], m.Frame.Seq)
	}
	require.Len(t, got, prompts)
}

func TestFramesAreSentOnlyWhenAskedFor(t *testing.T) {
	p := connect(t, start(t, &service{do: func(_ context.Context, _ api.Caller, _ any, emit emitFunc) (any, error) {
		require.Nil(t, emit)
		return api.PromptResult{}, nil
	}}, server.Config{}))
	p.send(promptEnvelope)
	require.True(t, p.receive().isReply())
}

func TestLostSocketEndsTheWaits(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	p := connect(t, start(t, &service{do: func(ctx context.Context, _ api.Caller, _ any, _ emitFunc) (any, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}, server.Config{}))
	p.send(promptEnvelope)
	<-began
	require.NoError(t, p.conn.CloseNow())
	<-ended
}

func TestSocketThatTakesNothingIsCutOff(t *testing.T) {
	failed := make(chan error, 1)
	address := start(t, &service{do: func(_ context.Context, _ api.Caller, args any, emit emitFunc) (any, error) {
		if _, ping := args.(*api.PingArgs); ping {
			return api.PingResult{}, nil
		}
		var err error
		for err == nil {
			err = emit(frame(1, sessions.TextPart{Text: strings.Repeat("x", 1<<20)}))
		}
		failed <- err
		return nil, err
	}}, server.Config{StallAfter: 50 * time.Millisecond})
	stuck := connect(t, address)
	stuck.send(`{"id":"7","op":"$prompt","args":{"sessionId":"a","text":"x","stream":true}}`)
	other := connect(t, address)
	for done := false; !done; {
		other.answers() // while the other end does not read, this one is served
		select {
		case err := <-failed:
			require.Error(t, err)
			done = true
		default:
		}
	}
}

func TestSlowReaderOfALargeMessageIsNotCutOff(t *testing.T) {
	const size = 8 << 20
	p := connect(t, start(t, &service{do: func(_ context.Context, _ api.Caller, _ any, emit emitFunc) (any, error) {
		return api.PromptResult{}, emit(frame(1, sessions.TextPart{Text: strings.Repeat("x", size)}))
	}}, server.Config{StallAfter: 500 * time.Millisecond}))
	p.send(`{"id":"7","op":"$prompt","args":{"sessionId":"a","text":"x","stream":true}}`)
	_, r, err := p.conn.Reader(t.Context())
	require.NoError(t, err)
	var read int64
	for err == nil {
		var n int64
		n, err = io.CopyN(io.Discard, r, 64<<10)
		read += n
		time.Sleep(5 * time.Millisecond) // the slowness is the subject: the whole takes longer than StallAfter
	}
	require.ErrorIs(t, err, io.EOF)
	require.Greater(t, read, int64(size))
	require.True(t, *p.receive().OK)
}

func TestPeerThatAnswersNoPingIsClosed(t *testing.T) {
	address := start(t, &service{}, server.Config{PingEvery: time.Millisecond, StallAfter: 20 * time.Millisecond})
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /v1/ws HTTP/1.1\r\nHost: "+address+"\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: agenthost.v1\r\n\r\n")
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, 101, response.StatusCode)
	opcode, _ := readControl(t, r)
	require.Equal(t, byte(0x9), opcode, "a ping")
	opcode, payload := readControl(t, r)
	require.Equal(t, byte(0x8), opcode, "a close")
	require.Equal(t, 1013, int(payload[0])<<8|int(payload[1]))
}

// readControl reads one control frame from a server.
func readControl(t *testing.T, r io.Reader) (opcode byte, payload []byte) {
	t.Helper()
	head := make([]byte, 2)
	_, err := io.ReadFull(r, head)
	require.NoError(t, err)
	payload = make([]byte, head[1])
	_, err = io.ReadFull(r, payload)
	require.NoError(t, err)
	return head[0] & 0xf, payload
}

func TestPeerThatAnswersPingsStays(t *testing.T) {
	var pings atomic.Int64
	address := start(t, &service{}, server.Config{PingEvery: time.Millisecond})
	pinged := make(chan struct{})
	conn, _, err := websocket.Dial(t.Context(), "ws://"+address+"/v1/ws", &websocket.DialOptions{
		Subprotocols: []string{api.Subprotocol},
		OnPingReceived: func(context.Context, []byte) bool {
			if pings.Add(1) == 5 {
				close(pinged)
			}
			return true
		},
	})
	require.NoError(t, err)
	p := peer{t, conn}
	defer conn.CloseNow()
	replied := make(chan message)
	go func() { replied <- p.receive() }()
	<-pinged
	p.send(`{"id":"7","op":"$ping"}`)
	require.True(t, *(<-replied).OK)
}

func TestHandshakesThatAreRefused(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	good := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol": api.Subprotocol}
	for name, bad := range map[string]string{"Connection": "keep-alive", "Upgrade": "h2c", "Sec-WebSocket-Version": "8",
		"Sec-WebSocket-Key": "short", "Sec-WebSocket-Protocol": "agenthost.v2"} {
		var header []string
		for k, v := range good {
			if k == name {
				v = bad
			}
			header = append(header, k, v)
		}
		send(t, "GET", "http://"+address+"/v1/ws", "", header...).refused(t, 400, sessions.CodeInvalidRequest)
	}
	_, response, err := websocket.Dial(t.Context(), "ws://"+address+"/v1/ws", nil)
	require.Error(t, err)
	require.Equal(t, 400, response.StatusCode)
}
