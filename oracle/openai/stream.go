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

	"agenthost/oracle/provider"
)

// attempt makes one request and reads its stream into answer. It returns nil when
// the answer is whole, or when the listener has left.
func (o *Oracle) attempt(ctx context.Context, params sdk.ChatCompletionNewParams, answer *provider.Answer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The SDK's own reading of the stream hides whether [DONE] came and takes
	// a null error for an error, so only its decoder is used.
	var response *http.Response
	stream := o.client.NewStreaming(ctx, params, option.WithResponseInto(&response))
	defer stream.Close()
	if err := stream.Err(); err != nil {
		return provider.JudgeRefusal(err, tooLong)
	}
	events := ssestream.NewDecoder(response)
	if events == nil {
		return provider.ErrBroken
	}
	r, done := reading{Answer: answer}, false
	for !done && !r.Left() && events.Next() {
		var err error
		if done, err = r.take(events.Event()); err != nil {
			return err
		}
	}
	if !r.Left() && !done && r.finishReason == "" {
		return errors.Join(provider.ErrBroken, events.Err())
	}
	return nil
}

// take adds one event to the answer and reports whether it was the last.
func (r *reading) take(event ssestream.Event) (done bool, err error) {
	data := strings.TrimSpace(string(event.Data))
	if data == "[DONE]" {
		return true, nil
	}
	var chunk sdk.ChatCompletionChunk
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		return false, fmt.Errorf("%w: an event is no chunk: %w", provider.ErrBroken, err)
	}
	problem := chunk.JSON.ExtraFields["error"].Raw()
	if event.Type == "error" || problem != "" && problem != "null" {
		return false, reported(data)
	}
	r.add(chunk)
	return false, r.Err()
}

// reported is the error that a stream reports.
func reported(data string) error {
	err := fmt.Errorf("the provider reported in mid stream: %s", data)
	if tooLong(data) {
		return provider.Overflow(err)
	}
	return err
}
