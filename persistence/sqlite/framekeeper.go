package sqlite

import (
	"context"
	"slices"

	"agenthost/sessions"
)

// frameKeeper keeps the frames of sessions: in a table or in files. A session's
// are all kept in one way, which is chosen when it is made.
type frameKeeper interface {
	// append stores frames in the batch's transaction.
	append(t *tx, b frameBatch) error
	// read returns what is kept of a range. It is called by readers.
	read(ctx context.Context, q querier, r frameRange) (keptFrames, error)
	// drop takes away a life's frames below a seq.
	drop(t *tx, life sessions.Incarnation, below int64) error
}

// frameBatch is frames of one turn on their way into the store.
type frameBatch struct {
	life  sessions.Incarnation
	turn  int64 // the turn's num, 0 for frames of no turn
	first int64 // seq of the first frame; the others follow without gaps
	at    sessions.Time
	rows  []frameRow
	fresh bool // they are the turn's first
	last  bool // and these its last
}

// frameRange selects frames of a life by seq, inclusive at both ends.
type frameRange struct {
	life       sessions.Incarnation
	turn       int64 // the turn's num, 0 for all
	from, to   int64
	descending bool
	limit      int // 0 for all
}

func (r frameRange) empty() bool { return r.from > r.to }

// keptFrames is the answer to a frameRange, in its order. What lies between the
// range's start and the last frame, or its end if there is no more, is in
// frames or in missing.
type keptFrames struct {
	frames  []sessions.Frame
	missing []sessions.Gap
	more    bool
}

// lack records that the seqs from to to are missing; those of later calls lie
// behind them in the range's order.
func (k *keptFrames) lack(from, to int64) {
	if n := len(k.missing); n > 0 {
		switch last := &k.missing[n-1]; {
		case last.To+1 == from:
			last.To = to
			return
		case last.From == to+1:
			last.From = from
			return
		}
	}
	k.missing = append(k.missing, sessions.Gap{From: from, To: to})
}

// cut limits what was found to a page: beyond its last frame nothing is told.
func (k *keptFrames) cut(r frameRange) {
	k.frames, k.more = cut(k.frames, r.limit)
	if !k.more {
		return
	}
	end := k.frames[len(k.frames)-1].Seq
	k.missing = slices.DeleteFunc(k.missing, func(g sessions.Gap) bool {
		return !r.descending && g.From > end || r.descending && g.To < end
	})
}

// frames returns what keeps a session's frames.
func (t *tx) frames(s *sessionRow) frameKeeper { return keeperOf(s, t.files) }

func keeperOf(s *sessionRow, files *fileFrames) frameKeeper {
	if s.filed {
		return files
	}
	return tableFrames{}
}
