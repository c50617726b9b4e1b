package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/coder/websocket"

	"agenthost/host/api"
	"agenthost/sessions"
)

// call makes one request and decodes its result into an R.
func call[R any](ctx context.Context, c *Client, op api.Op, args api.Args) (*R, error) {
	body, err := encodeRequest(nil, op, args)
	if err != nil {
		return nil, err
	}
	answer, err := c.roundTrip(ctx, http.MethodPost, "/v1/call", body)
	if err != nil {
		return nil, err
	}
	var reply api.Reply
	if err := json.Unmarshal(answer.body, &reply); err != nil || !reply.OK && reply.Error == nil {
		return nil, unreachable(fmt.Errorf("what answers there (%s) speaks another protocol", answer.status))
	}
	return resultOf[R](reply)
}

func encodeRequest(id *string, op api.Op, args api.Args) ([]byte, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("the arguments of %s cannot be sent: %w", op, err)
	}
	return json.Marshal(api.Request{ID: id, Op: op, Args: raw})
}

func resultOf[R any](reply api.Reply) (*R, error) {
	if err := reply.Err(); err != nil {
		return nil, err
	}
	result := new(R)
	if err := json.Unmarshal(reply.Result, result); err != nil {
		return nil, unreachable(fmt.Errorf("the result has another form: %w", err))
	}
	return result, nil
}

// answer is what came back over HTTP.
type answer struct {
	code   int
	status string
	body   []byte
}

// roundTrip sends one HTTP request and reads its whole answer.
func (c *Client) roundTrip(ctx context.Context, method, path string, body []byte) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	c.authorize(r.Header)
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}, lost(ctx, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, c.most+1))
	if err != nil {
		return answer{}, lost(ctx, err)
	}
	if int64(len(data)) > c.most {
		return answer{}, errLongAnswer(c.most)
	}
	return answer{response.StatusCode, response.Status, data}, nil
}

func errLongAnswer(most int64) *sessions.Error {
	return sessions.TooLarge("answerBytes", most, "The host's answer is longer than the %d bytes that are read of one; ask for less at once.", most)
}

// lost returns the error of a connection that failed: the caller's own giving
// up, if that was it.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if websocket.CloseStatus(err) == websocket.StatusMessageTooBig {
		return sessions.Errorf(sessions.CodePayloadTooLarge, "The request is larger than the host allows; send less at once.").Because(err)
	}
	return unreachable(err)
}

// checkHealth returns ErrUnreachable unless a host answers.
func (c *Client) checkHealth(ctx context.Context) error {
	answer, err := c.roundTrip(ctx, http.MethodGet, "/healthz", nil)
	if err != nil {
		return err
	}
	var health struct {
		Status string `json:"status"`
	}
	if answer.code != http.StatusOK || json.Unmarshal(answer.body, &health) != nil || health.Status != "ok" {
		return unreachable(errors.New("what answers there is no agenthost"))
	}
	return nil
}
