package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"agenthost/oracle/provider"
	"agenthost/sessions"
)

// attempt makes one request and reads its stream into answer. It returns nil
// when the answer is whole, or when the listener has left.
func (o *Oracle) attempt(ctx context.Context, params sdk.MessageNewParams, answer *provider.Answer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The SDK's own reading of the stream hides whether message_stop came and
	// leaves out events without a name, so only its decoder is used.
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
	if !r.Left() && !done && r.stopReason == "" {
		return errors.Join(provider.ErrBroken, events.Err())
	}
	return nil
}

// reading puts an answer together from the events of one stream.
type reading struct {
	*provider.Answer
	stopReason sdk.StopReason
}

// take adds one event to the answer and reports whether it was the last.
func (r *reading) take(event ssestream.Event) (done bool, err error) {
	data := strings.TrimSpace(string(event.Data))
	if event.Type == "ping" || event.Type != "error" && data == "" {
		return false, nil
	}
	var e sdk.MessageStreamEventUnion
	if err := json.Unmarshal([]byte(data), &e); err != nil && event.Type != "error" {
		return false, fmt.Errorf("%w: an event is no JSON: %w", provider.ErrBroken, err)
	}
	if event.Type == "error" || e.Type == "error" {
		return false, reported(data)
	}
	switch e.Type {
	case "message_start":
		r.count(e.Message.Usage)
	case "content_block_start":
		r.begin(e.Index, e.ContentBlock)
	case "content_block_delta":
		r.Say(e.Delta.Text)
		if call := r.Call(e.Index); call != nil {
			call.Add("", e.Delta.PartialJSON)
		}
	case "message_delta":
		r.recount(e.Usage)
		r.stop(e.Delta.StopReason)
	case "message_stop":
		return true, nil
	}
	return false, r.Err()
}

// begin takes in the beginning of a block: text, or a call whose arguments
// follow. Other blocks, such as thoughts, are no part of an answer.
func (r *reading) begin(index int64, block sdk.ContentBlockStartEventContentBlockUnion) {
	switch block.Type {
	case "text":
		r.Say(block.Text)
	case "tool_use":
		call := r.NewCall(index)
		call.ID = block.ID
		// Some servers give all arguments at once; the API begins with none.
		args := block.JSON.Input.Raw()
		if args == "{}" || args == "null" {
			args = ""
		}
		call.Add(block.Name, args)
	}
}

// stop takes in why the answer ended. A pause of the provider's own, or a full
// context, cuts an answer short like the bound of its length.
func (r *reading) stop(reason sdk.StopReason) {
	if reason == "" {
		return
	}
	r.stopReason = reason
	r.Refused = reason == sdk.StopReasonRefusal
	r.Full = reason == sdk.StopReasonModelContextWindowExceeded
	switch reason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded, sdk.StopReasonPauseTurn:
		r.Cut = true
	}
}

// count takes in the usage that a stream begins with. The provider counts apart
// what its cache has taken in and what it has served.
func (r *reading) count(u sdk.Usage) {
	if !u.JSON.InputTokens.Valid() {
		return
	}
	r.Usage = &sessions.Usage{
		InputTokens:  u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens,
		CachedTokens: u.CacheReadInputTokens, OutputTokens: u.OutputTokens, Calls: 1,
	}
}

// recount takes in the usage that a stream ends with: the sums so far, of which
// a server may repeat only the output's.
func (r *reading) recount(u sdk.MessageDeltaUsage) {
	if !u.JSON.OutputTokens.Valid() {
		return
	}
	if r.Usage == nil {
		r.Usage = &sessions.Usage{Calls: 1}
	}
	r.Usage.OutputTokens = u.OutputTokens
	if n := u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens; n > 0 {
		r.Usage.InputTokens, r.Usage.CachedTokens = n, u.CacheReadInputTokens
	}
}

// reported is the error that a stream reports.
func reported(data string) error {
	err := fmt.Errorf("the provider reported in mid stream: %s", data)
	if tooLong(data) {
		return provider.Overflow(err)
	}
	return err
}
