package host

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"agenthost/sessions"
)

// OnDeleted is told which sessions were deleted, by whatever way.
type OnDeleted func(ctx context.Context, gone []sessions.DeletedSession) error

// How the announcer deals with its hook.
const (
	announcePage  = 100 // sessions in one call
	announceFirst = time.Second
	announceMax   = time.Minute
)

// announcer tells the hook of an embedder of every deleted session at least once.
// What is still to be told is in the store, so that it outlives a crash.
type announcer struct {
	store  sessions.HostStore
	hook   OnDeleted
	log    *slog.Logger
	nudged chan struct{}
}

func newAnnouncer(store sessions.HostStore, hook OnDeleted, log *slog.Logger) *announcer {
	return &announcer{store, hook, log, make(chan struct{}, 1)}
}

// nudge says that something was deleted. It never blocks.
func (a *announcer) nudge() {
	select {
	case a.nudged <- struct{}{}:
	default:
	}
}

// run tells what is in the store, then what comes, until ctx ends. After an error
// it tries the same again, each time after a longer pause.
func (a *announcer) run(ctx context.Context) {
	wait := announceFirst
	for {
		err := a.tellAll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			a.log.Warn("the hook for deleted sessions failed; it is called again", "error", err, "after", wait)
			if !pause(ctx, wait) {
				return
			}
			wait = min(2*wait, announceMax)
			continue
		}
		wait = announceFirst
		select {
		case <-a.nudged:
		case <-ctx.Done():
			return
		}
	}
}

// tellAll calls the hook until the store has nothing more to tell.
func (a *announcer) tellAll(ctx context.Context) error {
	for {
		gone, err := a.store.Unheard(ctx, announcePage)
		if err != nil || len(gone) == 0 {
			return err
		}
		if err := a.tell(ctx, gone); err != nil {
			return err
		}
		if err := a.store.Heard(ctx, gone); err != nil {
			return err
		}
	}
}

// tell calls the hook; its panic is an error.
func (a *announcer) tell(ctx context.Context, gone []sessions.DeletedSession) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the hook panicked: %v", fault)
		}
	}()
	return a.hook(ctx, gone)
}
