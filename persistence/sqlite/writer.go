package sqlite

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"agenthost/sessions"
)

// maxBatch is how many jobs share one transaction at most.
const maxBatch = 256

// job is one unit of the writer's work: run inside a transaction it shares with
// others, or solo, alone on the connection and outside of any transaction.
//
// A run may happen twice, when its batch fails for another's sake, so it sets
// its results anew each time. It answers a refusal with an *sessions.Error and
// must have written nothing by then; any other error is the driver's.
type job struct {
	run  func(*tx) error
	solo func(*link) error
	done chan error // gets exactly one answer
}

// writer owns the only connection that writes.
type writer struct {
	dial  func() (*link, error)
	at    *place
	log   *slog.Logger
	seen  Observer
	queue chan *job
	done  chan struct{} // closed when the loop has ended

	mu     sync.RWMutex
	closed bool

	commits atomic.Int64 // transactions committed

	link  *link         // of the loop alone; nil after a failed reopening
	clock sessions.Time // of the loop alone: the newest activity time issued
	files *fileFrames   // of the loop alone, but for its reads
}

// startWriter runs the loop on an open connection. stop ends it.
func startWriter(first *link, at *place, clock sessions.Time, files *fileFrames, cfg Config, dial func() (*link, error)) *writer {
	w := &writer{dial: dial, at: at, log: cfg.Logger, seen: cfg.Observer, queue: make(chan *job, cfg.QueueLimit), done: make(chan struct{}), link: first, clock: clock, files: files}
	first.tx.clock, first.tx.files = &w.clock, files
	go w.loop()
	return w
}

// stop takes no more jobs, waits for those under way and closes the connection.
func (w *writer) stop() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.done
}

// enqueue hands a job to the loop. A full queue is OVERLOADED, or waited for.
func (w *writer) enqueue(j *job, patient bool) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return sessions.ErrStoreClosed
	}
	if patient {
		w.queue <- j // the loop drains until the queue is closed, which needs mu
		return nil
	}
	select {
	case w.queue <- j:
		return nil
	default:
		return errOverload
	}
}

// submit hands a job over and waits for its answer, or for the end of ctx,
// which the job never sees.
func (w *writer) submit(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return sessions.ErrOutcomeUnknown.Because(context.Cause(ctx))
	}
	if err := w.enqueue(j, false); err != nil {
		return err
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-j.done:
		return err
	default:
		return sessions.ErrOutcomeUnknown.Because(context.Cause(ctx))
	}
}

func newJob(run func(*tx) error) *job { return &job{run: run, done: make(chan error, 1)} }

// do runs f in the writer and returns what it gave once that is durable.
func do[R any](ctx context.Context, w *writer, f func(*tx) (R, error)) (R, error) {
	var none R
	result := new(R)
	err := w.submit(ctx, newJob(func(t *tx) (err error) {
		*result, err = f(t)
		return err
	}))
	if err != nil {
		return none, err
	}
	return *result, nil
}

// doPatiently is do for work that must not be refused by a full queue and that
// nobody gives up on.
func doPatiently[R any](w *writer, f func(*tx) (R, error)) (R, error) {
	result := new(R)
	j := newJob(func(t *tx) (err error) {
		*result, err = f(t)
		return err
	})
	if err := w.enqueue(j, true); err != nil {
		return *result, err
	}
	err := <-j.done
	return *result, err
}

// doSolo runs f alone on the writer's connection, outside of a transaction.
func doSolo[R any](w *writer, f func(*link) (R, error)) (R, error) {
	result := new(R)
	err := w.submit(always, soloJob(result, f))
	return *result, err
}

// doSoloPatiently is doSolo for work that must not be refused by a full queue.
func doSoloPatiently[R any](w *writer, f func(*link) (R, error)) (R, error) {
	result := new(R)
	j := soloJob(result, f)
	if err := w.enqueue(j, true); err != nil {
		return *result, err
	}
	err := <-j.done
	return *result, err
}

func soloJob[R any](result *R, f func(*link) (R, error)) *job {
	return &job{done: make(chan error, 1), solo: func(l *link) (err error) {
		*result, err = f(l)
		return err
	}}
}

func (w *writer) loop() {
	defer close(w.done)
	for first := range w.queue {
		batch, solo := w.drain(first)
		if len(batch) > 0 {
			w.process(batch)
		}
		if solo != nil {
			solo.done <- translate(w.alone(solo))
		}
	}
	w.files.closeAll()
	if w.link != nil {
		w.link.close(w.log)
	}
}

// drain takes what waits, up to a batch or to a job that runs alone.
func (w *writer) drain(first *job) (batch []*job, solo *job) {
	for next := first; ; {
		if next.solo != nil {
			return batch, next
		}
		batch = append(batch, next)
		if len(batch) == maxBatch {
			return batch, nil
		}
		select {
		case j, ok := <-w.queue:
			if !ok {
				return batch, nil
			}
			next = j
		default:
			return batch, nil
		}
	}
}
