package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/telemetry"
	"agenthost/oracle"
	"agenthost/persistence/memory"
	"agenthost/persistence/sqlite"
	"agenthost/sessions"
	"agenthost/tools"
)

// What is asked and answered in every turn.
const (
	promptText = "What do twenty tokens of an answer look like when nobody has to think about them at all?"
	answerText = "They look like this: one short word after the other, in a row, until there are about twenty of them."
)

// instant is a model that answers at once, token by token.
type instant struct{ deltas []string }

// newInstant returns a model that gives its answer a number of times.
func newInstant(times int) instant {
	return instant{strings.SplitAfter(strings.TrimSpace(strings.Repeat(answerText+" ", times)), " ")}
}

// Name returns "instant".
func (instant) Name() string { return "instant" }

// Infer yields the answer.
func (o instant) Infer(context.Context, oracle.Request) iter.Seq2[oracle.Part, error] {
	return func(yield func(oracle.Part, error) bool) {
		for _, text := range o.deltas {
			if !yield(oracle.TextDelta{Text: text}, nil) {
				return
			}
		}
		if yield(oracle.UsageReport{Usage: sessions.Usage{InputTokens: 20, OutputTokens: 20}}, nil) {
			yield(oracle.Stop{Reason: oracle.StopDone}, nil)
		}
	}
}

// talkative is the profile whose answers are long.
const talkative = "talkative"

// openHost opens a whole host on a file, counted as one that serves.
func openHost(ctx context.Context, file string) (*host.Host, *sqlite.Store, error) {
	metrics := telemetry.New("bench", quiet())
	store, err := sqlite.Open(ctx, file, sqlite.Config{Logger: quiet(), Observer: metrics})
	if err != nil {
		return nil, nil, err
	}
	h, err := startHost(ctx, store, map[string]host.Profile{
		sessions.DefaultProfile: {Oracle: newInstant(1)},
		talkative:               {Oracle: newInstant(10)},
	}, host.Config{Observer: metrics})
	return h, store, err
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// startHost starts a host on a store, which is the host's from then on.
func startHost(ctx context.Context, store sessions.Store, profiles map[string]host.Profile, c host.Config) (*host.Host, error) {
	h, err := host.New(store, profiles, c)
	if err != nil {
		return nil, err
	}
	if err := h.Start(ctx); err != nil {
		h.Stop()
		return nil, err
	}
	return h, nil
}

// storeKind says where a host keeps its sessions, as the table names it.
type storeKind string

const (
	onDisk   storeKind = "durable"
	inMemory storeKind = "store in memory"
)

// openSmall opens a host of one profile on a new store of a kind.
func (b *bench) openSmall(ctx context.Context, kind storeKind, p host.Profile, tree *tools.Tree) (*host.Host, error) {
	metrics := telemetry.New("bench", quiet())
	var store sessions.Store = memory.New(memory.Config{})
	if kind == onDisk {
		var err error
		if store, err = sqlite.Open(ctx, b.newFile(), sqlite.Config{Logger: quiet(), Observer: metrics}); err != nil {
			return nil, err
		}
	}
	return startHost(ctx, store, map[string]host.Profile{sessions.DefaultProfile: p}, host.Config{Tools: tree, Observer: metrics})
}

// sessionKey is the target of a worker's session.
func sessionKey(worker int) string { return fmt.Sprintf("session-%d", worker) }

// requestID names a worker's n-th request.
func requestID(worker, n int) string { return fmt.Sprintf("request-%d-%d", worker, n) }

func promptOf(worker, n int) *api.PromptArgs {
	return &api.PromptArgs{Address: api.Address{TargetKey: sessionKey(worker)}, Text: promptText,
		RequestID: sessions.RequestID(requestID(worker, n))}
}

// hostTurns makes turns through the whole host.
func hostTurns(h *host.Host) turnFunc {
	return func(ctx context.Context, worker, n int) error {
		_, err := h.Prompt(ctx, promptOf(worker, n), nil)
		return err
	}
}

// createHostSessions makes the sessions of workers.
func createHostSessions(ctx context.Context, h *host.Host, workers int) error {
	return together(workers, func(w int) error {
		_, err := h.SessionCreate(ctx, &api.SessionCreateArgs{Address: api.Address{TargetKey: sessionKey(w)}})
		return err
	})
}

// createFloorSessions makes the sessions of workers.
func createFloorSessions(f *floor, workers int) ([]*floorSession, error) {
	all := make([]*floorSession, workers)
	err := together(workers, func(w int) (err error) {
		all[w], err = f.newSession(sessionKey(w))
		return err
	})
	return all, err
}

// floorTurns makes turns on the bare driver.
func floorTurns(all []*floorSession) turnFunc {
	return func(_ context.Context, worker, n int) error {
		fingerprint := sha256.Sum256([]byte(promptText))
		t, err := all[worker].accept(requestID(worker, n), promptText, fingerprint[:])
		if err != nil {
			return err
		}
		return t.end(answerText)
	}
}

// sizeOf is the size of a database, its log included.
func sizeOf(file string) int64 {
	var sum int64
	for _, name := range []string{file, file + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
