package agentsv1

import (
	"encoding/json"
	"fmt"
	"strings"

	"agenthost/sessions"
)

// itemView is a part of a turn as this API shows it: a message, or a call and
// what it gave.
type itemView interface{ id() string }

// itemID names a part of a message of a life's history: part 0 is the message itself,
// the others its calls.
func itemID(life sessions.Incarnation, seq int64, part int) string {
	return fmt.Sprintf("item_%d_%d_%d", life, seq, part)
}

// seqOf reads the number of the message from an id that itemID has made for a life.
func seqOf(life sessions.Incarnation, id string) (seq int64, ok bool) {
	var of sessions.Incarnation
	var part int
	_, err := fmt.Sscanf(id, "item_%d_%d_%d", &of, &seq, &part)
	return seq, err == nil && of == life && seq > 0 && part >= 0 && itemID(of, seq, part) == id
}

type messageItem struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Role    sessions.Role   `json:"role"`
	Content []contentView   `json:"content"`
	Phase   *string         `json:"phase"`
	Status  string          `json:"status"`
	TurnID  sessions.TurnID `json:"turn_id"`
}

type callItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CallID    sessions.CallID `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Status    string          `json:"status"`
	TurnID    sessions.TurnID `json:"turn_id"`
}

type callOutputItem struct {
	ID     string          `json:"id"`
	Type   string          `json:"type"`
	CallID sessions.CallID `json:"call_id"`
	Output any             `json:"output"`
	Error  *string         `json:"error"`
	Status string          `json:"status"`
	TurnID sessions.TurnID `json:"turn_id"`
}

// hostCallItem is a call that the host has run by itself.
type hostCallItem struct {
	ID          string          `json:"id"`
	Type        string          `json:"type"`
	ServerLabel string          `json:"server_label"`
	Name        string          `json:"name"`
	Arguments   json.RawMessage `json:"arguments"`
	Output      any             `json:"output"`
	Error       *string         `json:"error"`
	Status      string          `json:"status"`
	TurnID      sessions.TurnID `json:"turn_id"`
}

func (i messageItem) id() string    { return i.ID }
func (i callItem) id() string       { return i.ID }
func (i callOutputItem) id() string { return i.ID }
func (i hostCallItem) id() string   { return i.ID }

const (
	itemInProgress = "in_progress"
	itemCompleted  = "completed"
	itemIncomplete = "incomplete"
	itemFailed     = "failed"
)

// itemMaker makes the items of a session's messages.
type itemMaker struct {
	life sessions.Incarnation
	// clients are the tools that clients run, by turn and path: their calls are
	// function calls, wherever they are shown. The host runs all others.
	clients map[sessions.TurnID]map[string]bool
}

// message returns a user's or an assistant's message without its calls.
func (k itemMaker) message(m sessions.Message) messageItem {
	item := messageItem{ID: itemID(k.life, m.Seq, 0), Type: "message", Role: m.Role, Status: itemCompleted, TurnID: m.TurnID}
	if m.Role == sessions.RoleUser {
		item.Content = viewInput(m.Content)
		return item
	}
	text, phase := sessions.TextOf(m.Content), "final_answer"
	if len(m.ToolCalls) > 0 {
		phase = "commentary"
	}
	if m.Interrupted {
		item.Status = itemIncomplete
	}
	item.Role, item.Phase, item.Content = sessions.RoleAssistant, &phase, []contentView{{Type: "output_text", Text: &text}}
	return item
}

// isClients reports whether a client runs call i of a message. A message that a fork
// has copied has lost its turn; what the host has nothing for was a client's there.
func (k itemMaker) isClients(m sessions.Message, i int) bool {
	path := m.ToolCalls[i].Path
	return k.clients[m.TurnID][path] || m.TurnID == "" && strings.HasPrefix(path, functionRoot)
}

// call returns call i of a message. One that a client runs is complete as it is, and
// its result is an item of its own. result, of another, is nil while there is none.
func (k itemMaker) call(m sessions.Message, i int, result *sessions.Message) itemView {
	call, id := m.ToolCalls[i], itemID(k.life, m.Seq, i+1)
	if k.isClients(m, i) {
		return callItem{id, "function_call", call.ID, functionName(call.Path), call.Args, itemCompleted, m.TurnID}
	}
	slash := strings.LastIndexByte(call.Path, '/')
	item := hostCallItem{ID: id, Type: "mcp_call", ServerLabel: strings.Trim(call.Path[:max(slash, 0)], "/"),
		Name: call.Path[slash+1:], Arguments: call.Args, Status: itemInProgress, TurnID: m.TurnID}
	if result != nil {
		item.Output, item.Error, item.Status = outcomeOf(*result)
	}
	return item
}

// result returns what a client gave for a function call.
func (k itemMaker) result(m sessions.Message) callOutputItem {
	item := callOutputItem{ID: itemID(k.life, m.Seq, 0), Type: "function_call_output", CallID: m.ToolCallID, TurnID: m.TurnID}
	item.Output, item.Error, item.Status = outcomeOf(m)
	return item
}

// outcomeOf returns what a call gave: an output, or why there is none.
func outcomeOf(result sessions.Message) (output any, failure *string, status string) {
	if result.Error != nil {
		return nil, &result.Error.Message, itemFailed
	}
	return viewOutput(result.Content), nil, itemCompleted
}

// step returns the items of a message and of the results of its calls, which follow
// it: open calls have none.
func (k itemMaker) step(m sessions.Message, results []sessions.Message) (items []itemView) {
	if m.Role == sessions.RoleUser || m.Role == sessions.RoleAssistant && len(m.Content) > 0 {
		items = append(items, k.message(m))
	}
	given := map[sessions.CallID]*sessions.Message{}
	for i := range results {
		given[results[i].ToolCallID] = &results[i]
	}
	clients := map[sessions.CallID]bool{}
	for i, c := range m.ToolCalls {
		clients[c.ID] = k.isClients(m, i)
		items = append(items, k.call(m, i, given[c.ID]))
	}
	for _, r := range results {
		if clients[r.ToolCallID] {
			items = append(items, k.result(r))
		}
	}
	return items
}

// all returns the items of messages, which begin with no result and hold all that
// there are of any call.
func (k itemMaker) all(messages []sessions.Message) (items []itemView) {
	for i := 0; i < len(messages); {
		next := i + 1
		for next < len(messages) && messages[next].Role == sessions.RoleTool {
			next++
		}
		items = append(items, k.step(messages[i], messages[i+1:next])...)
		i = next
	}
	return items
}
