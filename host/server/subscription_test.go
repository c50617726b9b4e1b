package server_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
)

// feeds is a service whose subscriptions are feeds in the order they are opened.
func feeds(sources ...*feed) *service {
	opened := make(chan *feed, len(sources))
	for _, f := range sources {
		opened <- f
	}
	return &service{subscribe: func(*api.SubscribeArgs) (server.Subscription, error) { return <-opened, nil }}
}

func (p peer) subscribe() (sub string) {
	p.t.Helper()
	p.send(`{"id":"sub","op":"$subscribe","args":{"sessionId":"a"}}`)
	m := p.receive()
	require.True(p.t, *m.OK)
	var result api.SubscribeResult
	require.NoError(p.t, json.Unmarshal(m.Result, &result))
	return result.Sub
}

func TestSubscriptionsOfASocket(t *testing.T) {
	one, two := newFeed("c1"), newFeed("c2")
	address := start(t, feeds(one, two, newFeed("c3")), server.Config{})
	p := connect(t, address)
	p.send(`{"id":"7","op":"$subscribe","args":{"sessionId":"a","after":"0"}}`)
	m := p.receive()
	require.JSONEq(t, `{"sub":"s1","cursor":"c1"}`, string(m.Result))
	require.Equal(t, "s2", p.subscribe())
	require.Equal(t, "s1", connect(t, address).subscribe(), "names are a socket's own")

	two.give(t, textFrame(1))
	m = p.receive()
	require.Equal(t, "s2", m.Sub)
	require.Equal(t, textFrame(1), *m.Frame)
	one.give(t, textFrame(9))
	require.Equal(t, "s1", p.receive().Sub)
	p.answers()

	one.ended <- &api.EndError{Reason: api.EndDeleted, Cursor: "c9"}
	m = p.receive()
	require.Equal(t, "s1", m.Sub)
	require.Equal(t, &api.End{Reason: api.EndDeleted, Cursor: "c9"}, m.End)
	<-one.closed
	two.give(t, textFrame(2))
	require.Equal(t, "s2", p.receive().Sub)
}

func TestUnsubscribeIsTheLastOfASubscription(t *testing.T) {
	one := newFeed("c1")
	p := connect(t, start(t, feeds(one), server.Config{}))
	sub := p.subscribe()
	p.send(`{"id":"8","op":"$unsubscribe","args":{"sub":%q}}`, sub)
	m := p.receive()
	require.Equal(t, "8", *m.ID)
	require.JSONEq(t, `{}`, string(m.Result))
	<-one.closed
	p.send(`{"id":"9","op":"$unsubscribe","args":{"sub":%q}}`, sub)
	p.refused("9", sessions.CodeNotFound)
}

func TestUnsubscribeFromAFlood(t *testing.T) {
	one := newFeed("c1")
	p := connect(t, start(t, feeds(one), server.Config{}))
	sub := p.subscribe()
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		for seq := int64(1); ; seq++ {
			select {
			case one.frames <- textFrame(seq):
			case <-one.closed:
				return
			}
		}
	}()
	p.send(`{"id":"8","op":"$unsubscribe","args":{"sub":%q}}`, sub)
	for last := int64(0); ; last++ {
		m := p.receive()
		if m.isReply() {
			break
		}
		require.Equal(t, last+1, m.Frame.Seq)
	}
	<-flooded
	p.answers() // nothing of the subscription lies between
}

func TestSubscriptionThatCannotBeOpened(t *testing.T) {
	p := connect(t, start(t, &service{subscribe: func(*api.SubscribeArgs) (server.Subscription, error) {
		return nil, sessions.Errorf(sessions.CodeSessionNotFound, "No session has this address.")
	}}, server.Config{}))
	p.send(`{"id":"7","op":"$subscribe","args":{"sessionId":"a"}}`)
	p.refused("7", sessions.CodeSessionNotFound)
	p.answers()
}

func TestLostSocketClosesItsSubscriptions(t *testing.T) {
	one := newFeed("c1")
	p := connect(t, start(t, feeds(one), server.Config{}))
	p.subscribe()
	require.NoError(t, p.conn.CloseNow())
	<-one.closed
}

func TestStoppingDrainsSockets(t *testing.T) {
	one := newFeed("c1")
	s := feeds(one)
	began, release := make(chan struct{}), make(chan struct{})
	s.do = slowPrompt(began, release)
	address, stop := startStoppable(t, s, server.Config{DrainFor: time.Minute})
	idle, busy := connect(t, address), connect(t, address)
	idle.answers()
	busy.subscribe()
	busy.send(promptEnvelope)
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	idle.closed(websocket.StatusGoingAway)
	busy.send(`{"id":"8","op":"$ping"}`)
	busy.refused("8", sessions.CodeHostStopping)
	one.give(t, textFrame(2))
	require.Equal(t, "s1", busy.receive().Sub, "events go on")
	one.ended <- &api.EndError{Reason: api.EndStopping, Cursor: "c2"}
	require.Equal(t, api.EndStopping, busy.receive().End.Reason)
	close(release)
	require.Equal(t, "7", *busy.receive().ID)
	busy.closed(websocket.StatusGoingAway)
	require.NoError(t, <-stopped)
}

func TestWhatDoesNotEndInTimeIsCut(t *testing.T) {
	one := newFeed("c1")
	address, stop := startStoppable(t, feeds(one), server.Config{DrainFor: time.Millisecond})
	p := connect(t, address)
	p.subscribe()
	require.Error(t, stop())
	<-one.closed
	_, _, err := p.conn.Read(t.Context())
	require.Error(t, err)
}
