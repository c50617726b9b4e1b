package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/hosttest"
	"agenthost/host/server"
	"agenthost/sessions"
)

func TestCallAnswersWithTheReply(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	a := call(t, address, `{"id":"7","op":"$ping"}`, "Content-Type", "application/json; charset=UTF-8")
	require.Equal(t, 200, a.status)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.JSONEq(t, `{"id":"7","ok":true,"result":{"time":"1970-01-01T00:00:00.001Z"}}`, a.body)

	a = call(t, address, `{"op":"$ping","args":{}}`)
	require.Equal(t, 200, a.status)
	require.JSONEq(t, `{"id":null,"ok":true,"result":{"time":"1970-01-01T00:00:00.001Z"}}`, a.body)
}

func TestCallHandsOnDecodedArguments(t *testing.T) {
	got := make(chan any, 1)
	address := start(t, &service{do: func(_ context.Context, caller api.Caller, args any, emit emitFunc) (any, error) {
		require.Nil(t, emit, "nobody asked for frames")
		require.Equal(t, api.Caller{Owner: sessions.LocalOwner, Admin: true, Home: true}, caller)
		got <- args
		return api.PromptResult{Status: api.PromptCompleted}, nil
	}}, server.Config{})
	a := call(t, address, `{"op":"$prompt","args":{"targetKey":"k","text":"hello"}}`)
	require.Equal(t, 200, a.status, a.body)
	require.Equal(t, &api.PromptArgs{Address: api.Address{TargetKey: "k"}, Text: "hello"}, <-got)
}

func TestCallRefusesBadEnvelopes(t *testing.T) {
	address := start(t, &service{do: func(context.Context, api.Caller, any, emitFunc) (any, error) {
		t.Error("a bad request reached the service")
		return nil, errors.New("unexpected")
	}}, server.Config{})
	for name, c := range map[string]struct {
		body  string
		code  sessions.Code
		field string
	}{
		"nothing":            {``, sessions.CodeInvalidRequest, ""},
		"no JSON":            {`{"op"`, sessions.CodeInvalidRequest, ""},
		"an array":           {`[]`, sessions.CodeInvalidRequest, ""},
		"trailing data":      {`{"op":"$ping"} {}`, sessions.CodeInvalidRequest, ""},
		"unknown field":      {`{"op":"$ping","x":1}`, sessions.CodeInvalidRequest, "/x"},
		"duplicate key":      {`{"op":"$ping","op":"$ping"}`, sessions.CodeInvalidRequest, "/op"},
		"duplicate in args":  {`{"op":"$cancel","args":{"sessionId":"a","sessionId":"b"}}`, sessions.CodeInvalidRequest, "/args/sessionId"},
		"id of another type": {`{"id":7,"op":"$ping"}`, sessions.CodeInvalidRequest, "/id"},
		"long id":            {`{"id":"` + strings.Repeat("i", 129) + `","op":"$ping"}`, sessions.CodeInvalidRequest, "/id"},
		"no op":              {`{"id":"7"}`, sessions.CodeInvalidRequest, "/op"},
		"unknown op":         {`{"op":"$fly"}`, sessions.CodeUnknownOp, "/op"},
		"unknown argument":   {`{"op":"$prompt","args":{"sessionId":"a","text":"x","colour":1}}`, sessions.CodeInvalidRequest, "/args/colour"},
		"argument's type":    {`{"op":"$prompt","args":{"sessionId":"a","text":7}}`, sessions.CodeInvalidRequest, "/args/text"},
		"float for integer":  {`{"op":"$turns","args":{"sessionId":"a","limit":1.0}}`, sessions.CodeInvalidRequest, "/args/limit"},
		"lone surrogate":     {`{"op":"$prompt","args":{"sessionId":"a","text":"\ud800"}}`, sessions.CodeInvalidRequest, "/args/text"},
		"invalid UTF-8":      {"{\"op\":\"$prompt\",\"args\":{\"sessionId\":\"a\",\"text\":\"\xff\"}}", sessions.CodeInvalidRequest, "/args/text"},
		"a subscription":     {`{"op":"$subscribe","args":{"sessionId":"a"}}`, sessions.CodeInvalidRequest, "/op"},
		"its end":            {`{"op":"$unsubscribe","args":{"sub":"s1"}}`, sessions.CodeInvalidRequest, "/op"},
		"frames in a reply":  {`{"op":"$prompt","args":{"sessionId":"a","text":"x","stream":true}}`, sessions.CodeInvalidRequest, "/args/stream"},
	} {
		t.Run(name, func(t *testing.T) {
			details := call(t, address, c.body).refused(t, 400, c.code)
			if c.field != "" {
				require.Equal(t, c.field, details["field"])
			}
		})
	}
}

func TestCallNamesTheRequestInItsRefusal(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	require.Equal(t, "7", *call(t, address, `{"id":"7","op":"$fly"}`).reply(t).ID)
	require.Equal(t, "7", *call(t, address, `{"id":"7","op":"$ping","x":1}`).reply(t).ID)
	require.Nil(t, call(t, address, `{"id":7,"op":"$ping"}`).reply(t).ID)
}

func TestCallBoundsTheBody(t *testing.T) {
	limits := sessions.DefaultLimits()
	limits.EnvelopeBytes = 100
	address := start(t, &service{}, server.Config{Limits: limits})
	url := "http://" + address + "/v1/call"
	fits := `{"op":"$ping"` + strings.Repeat(" ", 86) + `}`
	require.Len(t, fits, 100)
	require.Equal(t, 200, send(t, "POST", url, fits).status)
	unsized := func(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }
	require.Equal(t, 200, sendFrom(t, "POST", url, unsized(fits)).status)
	for _, a := range []answer{send(t, "POST", url, fits+" "), sendFrom(t, "POST", url, unsized(fits+" "))} {
		details := a.refused(t, 413, sessions.CodePayloadTooLarge)
		require.Equal(t, map[string]any{"limit": "envelopeBytes", "max": 100.0}, details)
	}
}

func TestCallDoesNotWaitForASlowBody(t *testing.T) {
	address := start(t, &service{}, server.Config{BodyTimeout: 20 * time.Millisecond})
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{\"op\"")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	answer{response.StatusCode, response.Header, string(body)}.refused(t, 400, sessions.CodeInvalidRequest)
	require.True(t, response.Close)
}

func TestCallChecksTheContentType(t *testing.T) {
	address := start(t, &service{}, server.Config{})
	for _, bad := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", ";"} {
		call(t, address, `{"op":"$ping"}`, "Content-Type", bad).refused(t, 400, sessions.CodeInvalidRequest)
	}
}

func TestCallGivesEachCodeItsStatus(t *testing.T) {
	var code sessions.Code
	address := start(t, &service{do: func(context.Context, api.Caller, any, emitFunc) (any, error) {
		return nil, sessions.Errorf(code, "No.").With("turnId", "t1").Because(errors.New("secret driver text"))
	}}, server.Config{})
	for _, row := range sessions.Codes() {
		code = row.Code
		a := call(t, address, `{"id":"1","op":"$ping"}`)
		require.Equal(t, row.HTTPStatus, a.status)
		require.JSONEq(t, fmt.Sprintf(`{"id":"1","ok":false,"error":{"code":%q,"message":"No.","retryable":%t,"details":{"turnId":"t1"}}}`,
			row.Code, row.Retryable), a.body)
		require.Equal(t, row.HTTPStatus == 429, a.header.Get("Retry-After") != "")
	}
}

func TestCallHidesFaults(t *testing.T) {
	for name, do := range map[string]func(context.Context, api.Caller, any, emitFunc) (any, error){
		"panic":           func(context.Context, api.Caller, any, emitFunc) (any, error) { panic("secret") },
		"error":           func(context.Context, api.Caller, any, emitFunc) (any, error) { return nil, errors.New("secret") },
		"unusable result": func(context.Context, api.Caller, any, emitFunc) (any, error) { return func() {}, nil },
		"error with cause": func(context.Context, api.Caller, any, emitFunc) (any, error) {
			return nil, sessions.Errorf(sessions.CodeInternal, "No.").Because(errors.New("secret"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log hosttest.Log
			address := start(t, &service{do: do}, server.Config{Logger: log.Logger()})
			a := call(t, address, `{"op":"$ping"}`)
			a.refused(t, 500, sessions.CodeInternal)
			require.NotContains(t, a.body, "secret")
			require.NotContains(t, a.body, "goroutine")
			require.Contains(t, log.String(), "level=ERROR")
		})
	}
}

func TestLostCallEndsTheWait(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	address := start(t, &service{do: func(ctx context.Context, _ api.Caller, _ any, _ emitFunc) (any, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}, server.Config{})
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	writePrompt(t, conn)
	<-began
	require.NoError(t, conn.Close())
	<-ended
}
