package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"agenthost/sessions"
)

// read goes through the range window by window of seqs, so that a page costs
// what it holds wherever it lies. Windows grow while nothing is found in them.
func (k *fileFrames) read(ctx context.Context, q querier, r frameRange) (keptFrames, error) {
	var kept keptFrames
	rest := r
	for width := windowOf(r); !rest.empty() && (r.limit == 0 || len(kept.frames) <= r.limit); width *= 2 {
		window := rest
		if r.descending {
			window.from = max(rest.from, rest.to-width+1)
			rest.to = window.from - 1
		} else {
			window.to = min(rest.to, rest.from+width-1)
			rest.from = window.to + 1
		}
		if err := k.readWindow(ctx, q, window, &kept); err != nil {
			return keptFrames{}, err
		}
	}
	kept.cut(r)
	return kept, nil
}

// windowOf returns how many seqs to look at first: a page, and one more frame
// that tells whether there are more.
func windowOf(r frameRange) int64 {
	if r.limit == 0 {
		return r.to - r.from + 1
	}
	return int64(r.limit) + 1
}

func (k *fileFrames) readWindow(ctx context.Context, q querier, window frameRange, into *keptFrames) error {
	runs, err := k.runs(ctx, q, window)
	if err != nil {
		return err
	}
	if window.descending {
		slices.Reverse(runs)
	}
	for _, run := range runs {
		var part keptFrames
		if err := k.readRun(ctx, q, window.life, run, &part); err != nil {
			return err
		}
		if window.descending {
			slices.Reverse(part.frames)
			slices.Reverse(part.missing)
		}
		into.frames = append(into.frames, part.frames...)
		for _, g := range part.missing {
			into.lack(g.From, g.To)
		}
	}
	return nil
}

// readRun reads the frames of a run in their order.
func (k *fileFrames) readRun(ctx context.Context, q querier, life sessions.Incarnation, run fileRun, into *keptFrames) error {
	next := run.from
	err := k.lines(frameFileID{life, run.turn}, run.from, run.to, func(line frameLine) error {
		if line.seq < next {
			return nil
		}
		if line.seq > next {
			into.lack(next, line.seq-1)
		}
		next = line.seq + 1
		frame, err := frameOf(ctx, q, life, run, line)
		into.frames = append(into.frames, frame)
		return err
	})
	if err != nil || next > run.to {
		return err
	}
	if end, ok := rebuiltEnd(life, run); ok {
		if next < end.Seq {
			into.lack(next, end.Seq-1)
		}
		into.frames = append(into.frames, end)
		next = end.Seq + 1
	}
	if next <= run.to {
		into.lack(next, run.to)
	}
	return nil
}

func (k *fileFrames) lines(id frameFileID, from, to int64, yield func(frameLine) error) error {
	f, err := openFrames(k.path(id))
	if err != nil || f == nil {
		return err
	}
	return errors.Join(f.between(from, to, yield), f.file.Close())
}

// frameOf returns the frame that a line stands for.
func frameOf(ctx context.Context, q querier, life sessions.Incarnation, run fileRun, line frameLine) (sessions.Frame, error) {
	f := sessions.Frame{Seq: line.seq, Cursor: sessions.CursorAt(life, line.seq), TurnID: run.of.TurnID,
		RequestID: run.of.RequestID, At: line.at}
	var err error
	if line.messageSeq == 0 {
		f.Body, err = decodeFrame(line.kind, line.body)
		return f, err
	}
	m, err := messageAt(ctx, q, life, line.messageSeq)
	if errors.Is(err, sql.ErrNoRows) {
		err = errDamaged
	}
	f.Body = sessions.MessageAppended{Message: m}
	return f, err
}

// rebuiltEnd makes the terminal frame of a turn from what the database knows,
// for a file that has lost it. It reports false when the run does not have it.
func rebuiltEnd(life sessions.Incarnation, run fileRun) (sessions.Frame, bool) {
	seq := run.of.LastFrame
	if !run.of.Status.Terminal() || seq < run.from || seq > run.to {
		return sessions.Frame{}, false
	}
	return sessions.Frame{Seq: seq, Cursor: sessions.CursorAt(life, seq), TurnID: run.of.TurnID, RequestID: run.of.RequestID,
		At: run.of.EndedAt, Body: sessions.TurnEnd{Status: run.of.Status, Error: run.of.Error}.Frame()}, true
}
