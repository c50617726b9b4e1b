package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/client"
	"agenthost/host/server"
	"agenthost/sessions"
)

// nextFrame is one subscriber.
type nextFrame func(context.Context) (sessions.Frame, error)

// fanOut measures how many frames a second reach the subscribers of one
// session, in process and over WebSockets.
func (b *bench) fanOut(ctx context.Context) error {
	for _, way := range []struct {
		name   string
		follow func(context.Context, *host.Host, int) ([]nextFrame, func(), error)
	}{
		{"in process", subscribeInProcess},
		{"WebSocket", subscribeBySocket},
	} {
		for _, readers := range []int{1, 100, 1000} {
			readers = max(readers/b.scale, 1)
			var rates []float64
			for range b.rounds {
				rate, err := b.fanLap(ctx, readers, way.follow)
				if err != nil {
					return err
				}
				rates = append(rates, rate)
			}
			b.table.add(row{"frames delivered, " + way.name, plural(readers, "subscriber"), "1/s", nil, rates, ""})
			b.say("%s, %d subscribers: %.0f frames/s", way.name, readers, median(rates))
		}
	}
	return nil
}

func (b *bench) fanLap(ctx context.Context, readers int, follow func(context.Context, *host.Host, int) ([]nextFrame, func(), error)) (float64, error) {
	h, _, err := openHost(ctx, b.newFile())
	if err != nil {
		return 0, err
	}
	defer h.Stop()
	if _, err := h.SessionCreate(ctx, &api.SessionCreateArgs{Address: fanAddress}); err != nil {
		return 0, err
	}
	all, end, err := follow(ctx, h, readers)
	if err != nil {
		return 0, err
	}
	defer end()
	began := time.Now()
	frames := 0
	for n := 0; n == 0 || time.Since(began) < b.lap; n++ {
		got, err := fanTurn(ctx, h, n, all)
		if err != nil {
			return 0, err
		}
		frames += got
	}
	return float64(frames) / time.Since(began).Seconds(), nil
}

var fanAddress = api.Address{TargetKey: "fan", ProfileKey: talkative}

// fanTurn makes one turn and returns how many frames its subscribers got.
func fanTurn(ctx context.Context, h *host.Host, n int, all []nextFrame) (int, error) {
	counts := make([]int, len(all))
	err := together(len(all)+1, func(w int) error {
		if w == len(all) {
			_, err := h.Prompt(ctx, &api.PromptArgs{Address: fanAddress, Text: promptText, RequestID: sessions.RequestID(requestID(0, n))}, nil)
			return err
		}
		for {
			frame, err := all[w](ctx)
			if err != nil {
				return fmt.Errorf("subscriber %d: %w", w, err)
			}
			counts[w]++
			if frame.Type().Terminal() {
				return nil
			}
		}
	})
	sum := 0
	for _, count := range counts {
		sum += count
	}
	return sum, err
}

func subscribeInProcess(ctx context.Context, h *host.Host, readers int) ([]nextFrame, func(), error) {
	var all []nextFrame
	var subs []*host.Subscription
	end := func() {
		for _, s := range subs {
			s.Close()
		}
	}
	for range readers {
		s, err := h.Subscribe(ctx, &api.SubscribeArgs{Address: fanAddress})
		if err != nil {
			end()
			return nil, nil, err
		}
		subs, all = append(subs, s), append(all, s.Next)
	}
	return all, end, nil
}

// subscribeBySocket subscribes through the doors; both ends are in this process.
func subscribeBySocket(ctx context.Context, h *host.Host, readers int) ([]nextFrame, func(), error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	serving, cancel := context.WithCancel(ctx)
	var doors sync.WaitGroup
	doors.Go(func() { _ = server.New(server.For(h), server.Config{}).Serve(serving, listener) }) // its subscribers would tell
	var subs []*client.Subscription
	end := func() {
		for _, s := range subs {
			s.Close()
		}
		cancel()
		doors.Wait()
	}
	var all []nextFrame
	c, err := client.Dial(ctx, "http://"+listener.Addr().String(), client.Config{})
	if err != nil {
		end()
		return nil, nil, err
	}
	for range readers {
		s, err := c.Subscribe(ctx, api.SubscribeArgs{Address: fanAddress})
		if err != nil {
			end()
			return nil, nil, err
		}
		subs, all = append(subs, s), append(all, s.Next)
	}
	return all, func() { end(); c.Close() }, nil
}
