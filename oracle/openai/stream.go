package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// Why a stream that began well is no answer.
var (
	errBroken = errors.New("the stream ended before the answer did")
	errEmpty  = errors.New("the answer is empty")
	// errTooLarge: another try would be no better.
	errTooLarge = fmt.Errorf("the tool calls of the answer take more than %d bytes", maxCallBytes)
)

// attempt makes one request and reads its stream into a. It returns nil when
// the answer is whole, or when the listener has left.
func (o *Oracle) attempt(ctx context.Context, params sdk.ChatCompletionNewParams, a *answer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The SDK's own reading of the stream hides whether [DONE] came and takes
	// a null error for an error, so only its decoder is used.
	var response *http.Response
	stream := o.client.NewStreaming(ctx, params, option.WithResponseInto(&response))
	defer stream.Close()
	if err := stream.Err(); err != nil {
		return err
	}
	events := ssestream.NewDecoder(response)
	if events == nil {
		return errBroken
	}
	done := false
	for !done && !a.left && events.Next() {
		var err error
		if done, err = a.take(events.Event()); err != nil {
			return err
		}
	}
	switch {
	case a.left:
		return nil
	case !done && a.finishReason == "":
		return errors.Join(errBroken, events.Err())
	case a.isEmpty():
		return errEmpty
	default:
		return nil
	}
}

// take adds one event to the answer and reports whether it was the last.
func (a *answer) take(event ssestream.Event) (done bool, err error) {
	data := strings.TrimSpace(string(event.Data))
	if data == "[DONE]" {
		return true, nil
	}
	var chunk sdk.ChatCompletionChunk
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		return false, fmt.Errorf("%w: an event is no chunk: %w", errBroken, err)
	}
	problem := chunk.JSON.ExtraFields["error"].Raw()
	if event.Type == "error" || problem != "" && problem != "null" {
		return false, fmt.Errorf("the provider reported in mid stream: %s", data)
	}
	a.add(chunk)
	if a.callBytes > maxCallBytes {
		return false, errTooLarge
	}
	return false, nil
}
