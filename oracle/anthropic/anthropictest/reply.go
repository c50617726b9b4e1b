package anthropictest

import (
	"fmt"

	"agenthost/oracle/provider/providertest"
)

// Stop is the event that ends a stream.
var Stop = Event("message_stop", `{"type":"message_stop"}`)

// Ping is the event that keeps a connection alive.
var Ping = Event("ping", `{"type":"ping"}`)

// Event is an event of a stream with the given name and JSON.
func Event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// Start is the event that begins a stream: what the request took, of which the
// cache took in some and served some.
func Start(input, created, read int) string {
	return Event("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",`+
		`"model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,`+
		`"cache_read_input_tokens":%d,"output_tokens":1}}}`, input, created, read))
}

// Block is the event that begins a block, a JSON object.
func Block(index int, block string) string {
	return Event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block))
}

// TextBlock is the event that begins a block of text.
func TextBlock(index int) string { return Block(index, `{"type":"text","text":""}`) }

// CallBlock is the event that begins the block of a tool call.
func CallBlock(index int, id, name string) string {
	return Block(index, fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(id), quote(name)))
}

// Delta is the event of some text.
func Delta(index int, text string) string {
	return blockDelta(index, `{"type":"text_delta","text":`+quote(text)+`}`)
}

// ArgsDelta is the event of some of a call's arguments.
func ArgsDelta(index int, args string) string {
	return blockDelta(index, `{"type":"input_json_delta","partial_json":`+quote(args)+`}`)
}

// ThoughtDelta is the event of some of a model's thoughts.
func ThoughtDelta(index int, text string) string {
	return blockDelta(index, `{"type":"thinking_delta","thinking":`+quote(text)+`}`)
}

func blockDelta(index int, delta string) string {
	return Event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta))
}

// BlockStop is the event that ends a block.
func BlockStop(index int) string {
	return Event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// End is the event that says why an answer ended, and how long it became.
func End(reason string, output int) string {
	return Event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":%d}}`,
		quote(reason), output))
}

// Error is the event of an error in mid stream.
func Error(kind, message string) string {
	return Event("error", fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s}}`, quote(kind), quote(message)))
}

// Stream is a reply of the given events, one piece each, and nothing else.
func Stream(events ...string) Reply { return providertest.Stream(events...) }

// Text is a whole answer of text in the given deltas.
func Text(deltas ...string) Reply {
	events := []string{Start(10, 0, 0), TextBlock(0), Ping}
	for _, d := range deltas {
		events = append(events, Delta(0, d))
	}
	return Stream(append(events, BlockStop(0), End("end_turn", len(deltas)), Stop)...)
}

// Calls is a whole answer that makes tool calls, their arguments in pieces that
// take turns.
func Calls(calls ...Call) Reply {
	events := []string{Start(10, 0, 0)}
	for i, c := range calls {
		events = append(events, CallBlock(i, c.ID, c.Name))
	}
	for half := range 2 {
		for i, c := range calls {
			args := []string{c.Args[:len(c.Args)/2], c.Args[len(c.Args)/2:]}[half]
			events = append(events, ArgsDelta(i, args))
		}
	}
	for i := range calls {
		events = append(events, BlockStop(i))
	}
	return Stream(append(events, End("tool_use", len(calls)), Stop)...)
}

// Failure is a plain response with an error in the provider's own form.
func Failure(status int, message string) Reply {
	return providertest.JSON(status, fmt.Sprintf(`{"type":"error","error":{"type":"some_error","message":%s},"request_id":"req_1"}`, quote(message)))
}

func quote(s string) string { return providertest.Quote(s) }
