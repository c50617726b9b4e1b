package openai

import (
	"cmp"

	sdk "github.com/openai/openai-go/v3"

	"agenthost/oracle/provider"
	"agenthost/sessions"
)

// reading puts an answer together from the chunks of one stream.
type reading struct {
	*provider.Answer
	finishReason string
}

// add takes in one chunk. Only the first choice counts; no other was asked for.
func (r *reading) add(chunk sdk.ChatCompletionChunk) {
	if chunk.JSON.Usage.Valid() {
		u := chunk.Usage
		r.Usage = &sessions.Usage{
			InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens,
			CachedTokens: u.PromptTokensDetails.CachedTokens, Calls: 1,
		}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		r.Say(choice.Delta.Content)
		r.Refused = r.Refused || choice.Delta.Refusal != ""
		r.Say(choice.Delta.Refusal)
		for _, delta := range choice.Delta.ToolCalls {
			r.call(delta)
		}
		r.finish(choice.FinishReason)
	}
}

func (r *reading) finish(reason string) {
	r.finishReason = cmp.Or(reason, r.finishReason)
	r.Refused = r.Refused || r.finishReason == "content_filter"
	r.Cut = r.finishReason == "length"
}

// call adds a delta to the call it belongs to. Some servers give every call
// the same index, or none; there another id, or another name, begins a call.
func (r *reading) call(delta sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	c := r.Call(delta.Index)
	name := delta.Function.Name
	if c == nil || name != "" && (!delta.JSON.Index.Valid() || delta.ID != "" && c.ID != "" && delta.ID != c.ID) {
		c = r.NewCall(delta.Index)
	}
	c.ID = cmp.Or(c.ID, delta.ID)
	if name == c.Name {
		name = "" // said again
	}
	c.Add(name, delta.Function.Arguments)
}
