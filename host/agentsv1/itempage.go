package agentsv1

import (
	"slices"

	"agenthost/host/api"
	"agenthost/sessions"
)

// listItems lists the items of a session.
func (v *visit) listItems(n named) error { return v.pageOfItems(n.at, "") }

// listTurnItems lists the items of one turn.
func (v *visit) listTurnItems(n named) error {
	if n.turn == "" {
		return notFound()
	}
	return v.pageOfItems(n.at, n.turn)
}

func (v *visit) pageOfItems(at api.Address, id sessions.TurnID) error {
	q, err := v.page()
	if err != nil {
		return err
	}
	s, err := v.session(at)
	if err != nil {
		return err
	}
	r := &itemReader{visit: v, session: s, at: at,
		maker: itemMaker{s.Fence.Incarnation, map[sessions.TurnID]map[string]bool{}}, oldest: 1}
	if id != "" {
		turn, err := v.turn(at, id)
		if err != nil {
			return err
		}
		r.turn, r.oldest = id, turn.UserSeq
		if turn.UserSeq == 0 {
			r.oldest = s.MessageCount + 1 // its prompt is not part of the history yet
		}
	}
	page, err := r.page(q)
	if err != nil {
		return err
	}
	return v.reply(page)
}

// chunkSize is how many messages are read at once.
const chunkSize = 128

// itemReader reads a page of items. A page may begin and end within a step, whose
// calls and results are messages apart: whole steps are read around it.
type itemReader struct {
	*visit
	session sessions.Session
	at      api.Address
	maker   itemMaker
	turn    sessions.TurnID // "" for all turns
	oldest  int64           // seq of the first message that may be meant

	messages     []sessions.Message // what has been read of those that are meant, oldest first
	low, high    int64              // all between these seqs has been read, themselves not
	below, above bool               // whether there are others on either side
}

// page reads until a page is complete.
func (r *itemReader) page(q pageQuery) (list, error) {
	if err := r.begin(q); err != nil {
		return list{}, err
	}
	read, more := r.readBelow, &r.below
	if q.ascending {
		read, more = r.readAbove, &r.above
	}
	for {
		items, found := behindItem(r.items(), q)
		switch {
		case !found:
			return list{}, unknownAfter()
		case len(items) > q.limit || !*more:
			return listOf(items[:min(q.limit, len(items))], len(items) > q.limit), nil
		}
		if err := read(); err != nil {
			return list{}, err
		}
	}
}

// begin goes to the place of the page, and reads the step that the page begins in.
func (r *itemReader) begin(q pageQuery) error {
	if q.after == "" {
		r.low, r.high = r.oldest-1, r.oldest
		if !q.ascending {
			r.low, r.high = r.session.MessageCount, r.session.MessageCount+1
		}
		r.below, r.above = r.low >= r.oldest, r.high <= r.session.MessageCount
		return nil
	}
	seq, ok := seqOf(r.maker.life, q.after)
	if !ok || seq < r.oldest || seq > r.session.MessageCount {
		return unknownAfter()
	}
	r.low, r.high, r.below, r.above = seq, seq+1, true, true
	if err := r.readBelow(); err != nil {
		return err
	}
	if n := len(r.messages); n == 0 || r.messages[n-1].Seq != seq {
		return unknownAfter() // it is of another turn
	}
	for !r.holds(seq) {
		read := r.readAbove
		if r.below && r.messages[0].Role == sessions.RoleTool {
			read = r.readBelow
		}
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether the whole steps that were read have a message among them.
func (r *itemReader) holds(seq int64) bool {
	whole := r.whole()
	return len(whole) > 0 && whole[0].Seq <= seq && seq <= whole[len(whole)-1].Seq || !r.below && !r.above
}

// whole returns the steps that nothing is missing of.
func (r *itemReader) whole() []sessions.Message {
	whole := r.messages
	for r.below && len(whole) > 0 && whole[0].Role == sessions.RoleTool {
		whole = whole[1:]
	}
	for r.above && len(whole) > 0 {
		last := whole[len(whole)-1]
		whole = whole[:len(whole)-1]
		if last.Role != sessions.RoleTool {
			break
		}
	}
	return whole
}

func (r *itemReader) items() []itemView { return r.maker.all(r.whole()) }

// behindItem returns the items of a page and those after it, in the page's order; found
// is false when the item that the page is to follow is not among them.
func behindItem(items []itemView, q pageQuery) (behind []itemView, found bool) {
	if !q.ascending {
		slices.Reverse(items)
	}
	if q.after == "" {
		return items, true
	}
	i := slices.IndexFunc(items, func(i itemView) bool { return i.id() == q.after })
	return items[i+1:], i >= 0
}

// readBelow reads older messages.
func (r *itemReader) readBelow() error {
	got, err := r.read(&api.MessagesArgs{Order: api.Descending, BeforeSeq: new(r.low + 1)})
	if err != nil {
		return err
	}
	r.below = got.HasMore
	for _, m := range got.Messages {
		switch {
		case m.Seq < r.oldest, r.turn != "" && m.TurnID != r.turn && len(r.messages) > 0:
			r.below = false // a turn's messages have no others between them
			return nil
		case r.turn == "" || m.TurnID == r.turn:
			r.messages = slices.Insert(r.messages, 0, m)
		}
		r.low = m.Seq - 1
	}
	r.below = r.below && r.low >= r.oldest
	return nil
}

// readAbove reads newer messages.
func (r *itemReader) readAbove() error {
	got, err := r.read(&api.MessagesArgs{Order: api.Ascending, AfterSeq: new(r.high - 1)})
	if err != nil {
		return err
	}
	r.above = got.HasMore
	for _, m := range got.Messages {
		switch {
		case r.turn != "" && m.TurnID != r.turn && len(r.messages) > 0:
			r.above = false
			return nil
		case r.turn == "" || m.TurnID == r.turn:
			r.messages = append(r.messages, m)
		}
		r.high = m.Seq + 1
	}
	return nil
}

// read reads some messages, and learns which tools clients run in their turns.
func (r *itemReader) read(args *api.MessagesArgs) (*api.MessagesResult, error) {
	args.Address, args.Limit = r.at, new(chunkSize)
	got, err := r.access.Messages(r.ctx(), args)
	if err != nil {
		return nil, err
	}
	for _, m := range got.Messages {
		if _, known := r.maker.clients[m.TurnID]; known || len(m.ToolCalls) == 0 {
			continue
		}
		if r.maker.clients[m.TurnID], err = r.access.ClientTools(r.ctx(), r.session, m.TurnID); err != nil {
			return nil, err
		}
	}
	return got, nil
}
