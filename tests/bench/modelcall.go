package main

import (
	"context"
	"errors"

	"agenthost/host"
	"agenthost/host/api"
)

// modelCalls measures a turn of one model call against the same call made by the
// official SDK alone, both to the same stand-in of the model's API.
func (b *bench) modelCalls(ctx context.Context) error {
	for _, begin := range standIns {
		for _, kind := range []storeKind{onDisk, inMemory} {
			if err := b.modelCallsTo(ctx, begin, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) modelCallsTo(ctx context.Context, begin func() (*standIn, error), kind storeKind) (err error) {
	s, err := begin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var rounds []pairs
	for range b.rounds {
		p, err := b.modelCallLap(ctx, s, kind)
		if err != nil {
			return err
		}
		rounds = append(rounds, p)
	}
	b.addPairs("model call, "+s.oracle.Name(), kind, rounds)
	return nil
}

// modelCallLap makes both calls in turn, the host's each in the first turn of a
// session, so that its request is the same as that of the SDK alone.
func (b *bench) modelCallLap(ctx context.Context, s *standIn, kind storeKind) (p pairs, err error) {
	h, err := b.openSmall(ctx, kind, host.Profile{Oracle: s.oracle}, nil)
	if err != nil {
		return p, err
	}
	defer h.Stop()
	turn := hostTurns(h)
	for n := range b.scaled(1000) + warmPairs {
		if err := createOne(ctx, h, n); err != nil {
			return p, err
		}
		err := p.add(n, func() error { return s.alone(ctx) }, func() error { return turn(ctx, n, 0) })
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// createOne makes the session of a worker.
func createOne(ctx context.Context, h *host.Host, worker int) error {
	_, err := h.SessionCreate(ctx, &api.SessionCreateArgs{Address: api.Address{TargetKey: sessionKey(worker)}})
	return err
}
