package agentsv1

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agenthost/host/api"
	"agenthost/sessions"
)

// itemView is a part of a turn as this API shows it: a message, or a call and
// what it gave.
type itemView interface{ id() string }

// itemID names a part of a message of the history: part 0 is the message itself,
// the others its calls.
func itemID(seq int64, part int) string { return fmt.Sprintf("item_%d_%d", seq, part) }

// placeOf reads an id that itemID has made.
func placeOf(id string) (seq int64, part int, ok bool) {
	_, err := fmt.Sscanf(id, "item_%d_%d", &seq, &part)
	return seq, part, err == nil && seq > 0 && part >= 0 && itemID(seq, part) == id
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

// viewMessage returns a user's or an assistant's message without its calls.
func viewMessage(m sessions.Message) messageItem {
	item := messageItem{ID: itemID(m.Seq, 0), Type: "message", Role: m.Role, Status: itemCompleted, TurnID: m.TurnID}
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

// viewCall returns call i of a message. result is nil while there is none.
func viewCall(m sessions.Message, i int, result *sessions.Message) itemView {
	call, id := m.ToolCalls[i], itemID(m.Seq, i+1)
	status := itemInProgress
	if result != nil {
		status = itemCompleted
	}
	if strings.HasPrefix(call.Path, functionRoot) {
		return callItem{id, "function_call", call.ID, functionName(call.Path), call.Args, status, m.TurnID}
	}
	slash := strings.LastIndexByte(call.Path, '/')
	item := hostCallItem{ID: id, Type: "mcp_call", ServerLabel: strings.Trim(call.Path[:max(slash, 0)], "/"),
		Name: call.Path[slash+1:], Arguments: call.Args, Status: status, TurnID: m.TurnID}
	if result == nil {
		return item
	}
	if item.Error = failureOf(*result); item.Error != nil {
		item.Status = itemFailed
	} else {
		item.Output = viewOutput(result.Content)
	}
	return item
}

// isClients reports whether an item is a call that the client runs.
func isClients(item itemView) bool {
	_, is := item.(callItem)
	return is
}

// viewResult returns what a client gave for a function call.
func viewResult(m sessions.Message) callOutputItem {
	item := callOutputItem{ID: itemID(m.Seq, 0), Type: "function_call_output", CallID: m.ToolCallID,
		Status: itemCompleted, TurnID: m.TurnID}
	if item.Error = failureOf(m); item.Error != nil {
		item.Status = itemFailed
	} else {
		item.Output = viewOutput(m.Content)
	}
	return item
}

func failureOf(result sessions.Message) *string {
	if result.Error == nil {
		return nil
	}
	return &result.Error.Message
}

// viewItems returns the items of messages, of which later ones hold the results of
// the calls of earlier ones, or open ends.
func viewItems(messages []sessions.Message) (items []itemView) {
	results, client := map[sessions.CallID]*sessions.Message{}, map[sessions.CallID]bool{}
	for i, m := range messages {
		if m.Role == sessions.RoleTool {
			results[m.ToolCallID] = &messages[i]
		}
		for _, c := range m.ToolCalls {
			client[c.ID] = strings.HasPrefix(c.Path, functionRoot)
		}
	}
	for _, m := range messages {
		switch {
		case m.Role == sessions.RoleTool && client[m.ToolCallID]:
			items = append(items, viewResult(m))
		case m.Role == sessions.RoleUser, m.Role == sessions.RoleAssistant && len(m.Content) > 0:
			items = append(items, viewMessage(m))
		}
		for i, c := range m.ToolCalls {
			items = append(items, viewCall(m, i, results[c.ID]))
		}
	}
	return items
}

// stepSpan is how many messages one step of a turn has at most beside each other: a
// page reads so many more, so that calls and their results are seen together.
const stepSpan = 256

// listItems lists the items of a session.
func (v *visit) listItems(n named) error { return v.pageOfItems(n.at, "") }

// listTurnItems lists the items of one turn.
func (v *visit) listTurnItems(n named) error {
	if n.turn == "" {
		return notFound()
	}
	return v.pageOfItems(n.at, n.turn)
}

// pageOfItems reads messages around the place of the page, and cuts the page from
// their items.
func (v *visit) pageOfItems(at api.Address, turn sessions.TurnID) error {
	q, _, err := v.page()
	if err != nil {
		return err
	}
	if _, err := v.session(at); err != nil {
		return err
	}
	if turn != "" {
		if _, err := v.turn(at, turn); err != nil {
			return err
		}
	}
	var from int64
	if q.after != "" {
		seq, _, ok := placeOf(q.after)
		if !ok {
			return unknownAfter()
		}
		from = seq
	}
	messages, more, err := v.messagesAround(at, from, q, turn)
	if err != nil {
		return err
	}
	items := slices.DeleteFunc(viewItems(messages), func(i itemView) bool { return beforePage(i.id(), q) })
	if !q.ascending {
		slices.Reverse(items)
	}
	return v.reply(listOf(items[:min(q.limit, len(items))], more || len(items) > q.limit))
}

// beforePage reports whether an item lies before the page that q asks for.
func beforePage(id string, q pageQuery) bool {
	if q.after == "" {
		return false
	}
	afterSeq, afterPart, _ := placeOf(q.after)
	seq, part, _ := placeOf(id)
	if q.ascending {
		return seq < afterSeq || seq == afterSeq && part <= afterPart
	}
	return seq > afterSeq || seq == afterSeq && part >= afterPart
}

// messagesAround reads as many messages as hold a page of items and the steps
// that it begins and ends in, oldest first. more says that there are others behind.
func (v *visit) messagesAround(at api.Address, from int64, q pageQuery, turn sessions.TurnID) (messages []sessions.Message, more bool, err error) {
	args := &api.MessagesArgs{Address: at, Limit: new(maxLimit + 2*stepSpan), Order: api.Ascending}
	if q.ascending {
		args.AfterSeq = new(max(from-1, 0))
	} else {
		args.Order = api.Descending
		if from > 0 {
			args.BeforeSeq = new(from + stepSpan)
		}
	}
	for {
		got, err := v.access.Messages(v.ctx(), args)
		if err != nil {
			return nil, false, err
		}
		for _, m := range got.Messages {
			if turn == "" || m.TurnID == turn {
				messages = append(messages, m)
			}
		}
		if !got.HasMore || len(messages) > maxLimit+stepSpan {
			more = got.HasMore
			break
		}
		last := got.Messages[len(got.Messages)-1].Seq
		if q.ascending {
			args.AfterSeq = &last
		} else {
			args.BeforeSeq = &last
		}
	}
	if !q.ascending {
		slices.Reverse(messages)
	}
	return messages, more, nil
}
