package main

import (
	"context"
	"reflect"
	"runtime"

	"agenthost/sessions"
)

// memory measures what a session costs that is in memory and has nothing to do.
func (b *bench) memory(ctx context.Context) error {
	count, warm := b.scaled(4000), b.workers(64)
	h, _, err := openHost(ctx, b.newFile())
	if err != nil {
		return err
	}
	defer h.Stop()
	turn := hostTurns(h)
	// The first sessions grow what all share: pools, statements, maps.
	if err := together(warm, func(w int) error { return turn(ctx, w, 0) }); err != nil {
		return err
	}
	before := heldBytes()
	err = together(warm, func(w int) error {
		for n := warm + w; n < warm+count; n += warm {
			if err := turn(ctx, n, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	each := float64(heldBytes()-before) / float64(count) / 1024
	b.table.add(row{"memory of an idle session", "one turn each", "KiB", nil, []float64{each}, ""})
	b.table.add(row{"the same beyond its history", "one turn each", "KiB", nil, []float64{each - turnBytes()/1024}, "≤ 4"})
	b.say("memory: %.1f KiB a session", each)
	return nil
}

// heldBytes is the memory that live objects and stacks take.
func heldBytes() int64 {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// turnBytes is what the messages of one turn take.
func turnBytes() float64 {
	perMessage := reflect.TypeFor[sessions.Message]().Size() + reflect.TypeFor[sessions.Content]().Size()
	return float64(2*int(perMessage) + len(promptText) + len(answerText))
}
