package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"agenthost/sessions"
)

// fileFrames keeps frames in files: FOLDER/LIFE/TURN.frames, names that are
// numbers of the store's own. The database keeps which turn's file has the
// frames from a seq on (frame_runs), and how many frames there are: what a file
// has beyond that was never committed.
//
// The files are written before the database commits and are not synced. A kill
// of the process loses nothing of them; after a power loss the newest frames may
// be missing, which reads tell as such.
//
// Reading is anybody's; everything else is the writer's.
type fileFrames struct {
	folder string
	log    *slog.Logger

	open  map[frameFileID]*growingFile
	clock uint64 // counts uses of open files, to find the one not used for longest

	// The batch at hand.
	pending []*pendingFrames
	byFile  map[frameFileID]*pendingFrames
	useless []frameFileID          // files that retention has emptied
	over    []sessions.Incarnation // lives that a delete has ended
	allOver bool                   // a clear has ended who knows which
}

// frameFileID names a file: a turn's num in a life, 0 for frames of no turn.
type frameFileID struct {
	life sessions.Incarnation
	turn int64
}

// growingFile is a file open for more.
type growingFile struct {
	file *os.File
	size int64 // behind the last frame that is committed
	used uint64
}

// pendingFrames is what a batch adds to a file.
type pendingFrames struct {
	id    frameFileID
	first int64
	data  []byte
	fresh bool // the file is to begin with them
	last  bool // no more will come
	into  *growingFile
}

// maxOpenFiles is how many files are kept open between two batches.
const maxOpenFiles = 256

func newFileFrames(folder string, log *slog.Logger) *fileFrames {
	return &fileFrames{folder: folder, log: log, open: map[frameFileID]*growingFile{}, byFile: map[frameFileID]*pendingFrames{}}
}

func (k *fileFrames) lifeFolder(life sessions.Incarnation) string {
	return filepath.Join(k.folder, strconv.FormatInt(int64(life), 10))
}

const framesSuffix = ".frames"

func (k *fileFrames) path(id frameFileID) string {
	return filepath.Join(k.lifeFolder(id.life), strconv.FormatInt(id.turn, 10)+framesSuffix)
}

// beginRun begins a run of frames of one turn, unless the last run is of it.
const beginRun = `INSERT INTO frame_runs (sid, first_seq, turn) SELECT ?1, ?2, ?3
    WHERE ?3 IS NOT (SELECT turn FROM frame_runs WHERE sid = ?1 ORDER BY first_seq DESC LIMIT 1)`

func (k *fileFrames) append(t *tx, b frameBatch) error {
	if len(b.rows) == 0 {
		return nil
	}
	if _, err := t.exec(beginRun, b.life, b.first, b.turn); err != nil {
		return err
	}
	id := frameFileID{b.life, b.turn}
	p := k.byFile[id]
	if p == nil {
		p = &pendingFrames{id: id, first: b.first, fresh: b.fresh}
		k.byFile[id] = p
		k.pending = append(k.pending, p)
	}
	p.last = b.last
	for i, row := range b.rows {
		p.data = appendLine(p.data, b.first+int64(i), b.at, row)
	}
	return nil
}

// drop forgets the runs that lie wholly below a seq. A file goes when its turn
// has ended below it; frames below it in other files are no longer looked for.
func (k *fileFrames) drop(t *tx, life sessions.Incarnation, below int64) error {
	var turns []int64
	err := t.each(always, `DELETE FROM frame_runs WHERE sid = ?1 AND first_seq <
            (SELECT max(first_seq) FROM frame_runs WHERE sid = ?1 AND first_seq <= ?2) RETURNING turn`,
		func(row scanner) error {
			var turn int64
			err := row.Scan(&turn)
			turns = append(turns, turn)
			return err
		}, life, below)
	if err != nil {
		return err
	}
	for _, turn := range turns {
		var last int64
		err := t.row(always, "SELECT last_frame FROM turns WHERE num = ?", turn).Scan(&last)
		switch {
		case errors.Is(err, sql.ErrNoRows): // frames of no turn, which are few
		case err != nil:
			return err
		case last > 0 && last < below:
			k.useless = append(k.useless, frameFileID{life, turn})
		}
	}
	return nil
}

// end lets go of a life's files once the batch is committed.
func (k *fileFrames) end(life sessions.Incarnation) { k.over = append(k.over, life) }

// endAll lets go of all files once the batch is committed.
func (k *fileFrames) endAll() { k.allOver = true }

// fileRun is the part of a run that a read is about.
type fileRun struct {
	turn     int64
	from, to int64
	of       sessions.Turn // what frames say of it; empty for none
}

// runsIn finds the runs that have seqs of a range.
const runsIn = `SELECT r.first_seq, coalesce((SELECT n.first_seq FROM frame_runs n WHERE n.sid = r.sid AND n.first_seq > r.first_seq
            ORDER BY n.first_seq LIMIT 1), ?4 + 1) - 1,
        r.turn, coalesce(t.turn_id, ''), coalesce(t.request_id, ''), coalesce(t.status, ''), coalesce(t.ended_ms, 0),
        coalesce(t.error, ''), coalesce(t.last_frame, 0)
    FROM frame_runs r LEFT JOIN turns t ON t.num = r.turn
    WHERE r.sid = ?1 AND r.first_seq <= ?4 AND (?2 = 0 OR r.turn = ?2)
        AND r.first_seq >= coalesce((SELECT max(first_seq) FROM frame_runs WHERE sid = ?1 AND first_seq <= ?3), 0)
    ORDER BY r.first_seq`

func (k *fileFrames) runs(ctx context.Context, q querier, r frameRange) (found []fileRun, err error) {
	err = q.each(ctx, runsIn, func(row scanner) error {
		var run fileRun
		var failure string
		err := row.Scan(&run.from, &run.to, &run.turn, &run.of.TurnID, &run.of.RequestID, &run.of.Status, &run.of.EndedAt,
			&failure, &run.of.LastFrame)
		if err != nil {
			return err
		}
		run.from, run.to = max(run.from, r.from), min(run.to, r.to)
		err = decodeText(failure, &run.of.Error)
		if run.from <= run.to {
			found = append(found, run)
		}
		return err
	}, r.life, r.turn, r.from, r.to)
	return found, err
}
