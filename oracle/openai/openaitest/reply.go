package openaitest

import (
	"fmt"

	"agenthost/oracle/provider/providertest"
)

// Done is the event that ends a stream.
const Done = "data: [DONE]\n\n"

// Event is an event of a stream with the given JSON.
func Event(data string) string { return "data: " + data + "\n\n" }

// Chunk is the event of a chunk whose first choice has delta, a JSON object,
// and the finish reason, if there is one.
func Chunk(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = quote(finish)
	}
	return Event(fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"f",`+
		`"choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}`, delta, reason))
}

// Delta is the event of some text.
func Delta(text string) string { return Chunk(`{"content":`+quote(text)+`}`, "") }

// Usage is the event that reports consumption.
func Usage(input, output, cached int) string {
	return Event(fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`,
		input, output, input+output, cached))
}

// Stream is a reply of the given events, one piece each, and nothing else.
func Stream(events ...string) Reply { return providertest.Stream(events...) }

// Text is a whole answer of text in the given deltas.
func Text(deltas ...string) Reply {
	events := []string{Chunk(`{"role":"assistant","content":"","refusal":null}`, "")}
	for _, d := range deltas {
		events = append(events, Delta(d))
	}
	return Stream(append(events, Chunk("{}", "stop"), Usage(10, len(deltas), 0), Done)...)
}

// Calls is a whole answer that makes tool calls, their arguments in pieces
// that take turns.
func Calls(calls ...Call) Reply {
	events := []string{Chunk(`{"role":"assistant","content":null}`, "")}
	for i, c := range calls {
		events = append(events, Chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`,
			i, quote(c.ID), quote(c.Name)), ""))
	}
	for half := range 2 {
		for i, c := range calls {
			args := []string{c.Args[:len(c.Args)/2], c.Args[len(c.Args)/2:]}[half]
			events = append(events, Chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(args)), ""))
		}
	}
	return Stream(append(events, Chunk("{}", "tool_calls"), Usage(10, len(calls), 0), Done)...)
}

// Failure is a plain response with an error in the provider's own form.
func Failure(status int, message string) Reply {
	return providertest.JSON(status, fmt.Sprintf(`{"error":{"message":%s,"type":"some_error","param":null,"code":null}}`, quote(message)))
}

func quote(s string) string { return providertest.Quote(s) }
