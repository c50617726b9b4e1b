package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/host"
	"agenthost/oracle"
	"agenthost/sessions"
)

// The difference is the host's only if both ask for the same.
func TestHostAndSDKSendTheSameRequest(t *testing.T) {
	for _, begin := range standIns {
		s, err := begin()
		require.NoError(t, err)
		t.Run(s.oracle.Name(), func(t *testing.T) {
			b := &bench{options: options{dir: t.TempDir()}}
			h, err := b.openSmall(t.Context(), inMemory, host.Profile{Oracle: s.oracle}, nil)
			require.NoError(t, err)
			defer h.Stop()
			require.NoError(t, createOne(t.Context(), h, 0))
			require.NoError(t, s.alone(t.Context()))
			require.NoError(t, hostTurns(h)(t.Context(), 0, 0))
			requests := s.server.Requests()
			require.Len(t, requests, 2)
			require.JSONEq(t, string(requests[0].Body), string(requests[1].Body))
			require.NoError(t, s.close())
		})
	}
}

func TestSceneTellsWhatTheServerFindsWrong(t *testing.T) {
	ended := ""
	s := &scene{}
	s.Cleanup(func() { ended += "a" })
	s.Cleanup(func() { ended += "b" })
	s.Errorf("request %d is wrong", 7)
	require.EqualError(t, s.close(), "request 7 is wrong")
	require.Equal(t, "ba", ended)
}

func TestPairsTakeTurnsInBeingFirst(t *testing.T) {
	var order string
	var p pairs
	for n := range warmPairs + 2 {
		require.NoError(t, p.add(n, func() error { order += "f"; return nil }, func() error { order += "h"; return nil }))
	}
	require.Equal(t, "fhhf", order[len(order)-4:])
	require.Len(t, p.floors, 2)
	require.Len(t, p.hosts, 2)

	failed := errors.New("failed")
	require.ErrorIs(t, p.add(0, func() error { return nil }, func() error { return failed }), failed)
}

func TestPairsAreComparedOneByOne(t *testing.T) {
	p := pairs{floors: []time.Duration{1000, 5000, 2000}, hosts: []time.Duration{4000, 6000, 4000}}
	require.Equal(t, []time.Duration{3000, 1000, 2000}, p.apart())
	require.InDelta(t, 2, microseconds(p.apart(), 0.5), 1e-9)
}

// A call that fails is no sample.
func TestStepperTakesNoOtherOutput(t *testing.T) {
	o := &stepper{function: "f", args: "{}", want: "1", calls: 1}
	parts := func(history ...sessions.Message) (n int, failed error) {
		for _, err := range o.Infer(context.Background(), oracle.Request{Messages: history}) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	n, err := parts()
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = parts(sessions.Message{Role: sessions.RoleTool, Content: sessions.Text("1")})
	require.NoError(t, err)
	require.Len(t, o.steps, 1)
	_, err = parts(sessions.Message{Role: sessions.RoleTool, Content: sessions.Text("2")})
	require.ErrorContains(t, err, "after a call")
}
