package sqlite

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	driver "modernc.org/sqlite"

	"agenthost/sessions"
)

// errBegin marks a failure to begin, which is no job's fault and would meet
// each of them again.
var errBegin = errors.New("cannot begin a transaction")

// process answers every job of a batch exactly once: together when all is well,
// one by one when something failed, so that only the bad job fails.
func (w *writer) process(batch []*job) {
	answers, err := w.attempt(batch)
	switch {
	case err == nil:
		for i, j := range batch {
			j.done <- answers[i]
		}
	case len(batch) == 1 || errors.Is(err, errBegin):
		w.seen.Failed(len(batch))
		w.log.Error("writes failed", "jobs", len(batch), "error", err)
		for _, j := range batch {
			j.done <- translate(err)
		}
	default:
		w.log.Warn("a batch failed and is tried one by one", "jobs", len(batch), "error", err)
		for i := range batch {
			w.process(batch[i : i+1])
		}
	}
}

// attempt runs jobs in one transaction. answers holds each job's refusal or
// nil; err says that nothing of the batch is stored.
func (w *writer) attempt(batch []*job) (answers []error, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = w.panicked(p)
		}
	}()
	began := time.Now()
	if err := w.begin(); err != nil {
		return nil, fmt.Errorf("%w: %w", errBegin, err)
	}
	t := w.link.tx
	answers = make([]error, len(batch))
	for i, j := range batch {
		t.beginJob()
		answers[i] = j.run(t)
		t.endJob()
		if answers[i] != nil && (t.wrote || !isRefusal(answers[i])) {
			w.rollback()
			return nil, answers[i]
		}
	}
	if err := w.files.flush(); err != nil {
		w.rollback()
		return nil, err
	}
	if _, err := t.exec("COMMIT"); err != nil {
		w.rollback()
		return nil, err
	}
	w.files.done()
	w.commits.Add(1)
	w.seen.Committed(len(batch), time.Since(began))
	return answers, nil
}

// isRefusal tells a job's own answer from a driver's error.
func isRefusal(err error) bool {
	_, coded := errors.AsType[*sessions.Error](err)
	return coded
}

// begin starts a transaction, on a new connection when the old one is of no use.
func (w *writer) begin() error {
	if err := w.at.check(); err != nil {
		return err
	}
	if w.link != nil {
		_, err := w.link.tx.exec("BEGIN IMMEDIATE")
		if err == nil || hasKnownCause(err) {
			return err
		}
		w.drop()
	}
	if err := w.redial(); err != nil {
		return err
	}
	_, err := w.link.tx.exec("BEGIN IMMEDIATE")
	return err
}

func hasKnownCause(err error) bool {
	raw, ok := errors.AsType[*driver.Error](err)
	return ok && causes[raw.Code()&0xff] != ""
}

// rollback ends a failed transaction. Its own failure means that SQLite has
// rolled back already, or that the next begin fails and reopens.
func (w *writer) rollback() {
	w.files.undo()
	clear(w.link.tx.recent)
	if _, err := w.link.tx.exec("ROLLBACK"); err != nil {
		w.log.Debug("rollback after a failed write", "error", err)
	}
}

func (w *writer) drop() {
	w.link.close(w.log)
	w.link = nil
	w.at.forgetJournal()
}

func (w *writer) redial() error {
	fresh, err := w.dial()
	if err != nil {
		return err
	}
	fresh.tx.clock, fresh.tx.files = &w.clock, w.files
	w.link = fresh
	w.at.noteJournal()
	w.log.Warn("the store's connection was opened again")
	return nil
}

// panicked drops the connection, and with it the transaction of unknown state.
func (w *writer) panicked(p any) error {
	w.log.Error("a write panicked", "panic", p, "stack", string(debug.Stack()))
	w.files.undo()
	if w.link != nil {
		w.drop()
	}
	return fmt.Errorf("a write panicked: %v", p)
}

// alone runs a solo job. One that fails may leave the connection with other
// options than the store's, so the connection goes with it.
func (w *writer) alone(j *job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = w.panicked(p)
		}
	}()
	if err := w.at.check(); err != nil {
		return err
	}
	if w.link == nil {
		if err := w.redial(); err != nil {
			return err
		}
	}
	clear(w.link.tx.recent)
	if err := j.solo(w.link); err != nil {
		w.drop()
		return err
	}
	return nil
}
