package server

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"agenthost/host/api"
	"agenthost/host/api/strictjson"
	"agenthost/host/sse"
	"agenthost/sessions"
)

// frames serves a subscription to one session as an event stream.
func (s *Server) frames(w http.ResponseWriter, r *http.Request, caller api.Caller, id sessions.SessionID) {
	after, err := afterOf(r)
	if err != nil {
		s.refuse(w, nil, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	sub, err := s.subscribe(ctx, caller, &api.SubscribeArgs{Address: api.Address{SessionID: id}, After: after})
	if err != nil {
		s.refuse(w, nil, orGone(ctx, err))
		return
	}
	stream := eventStream{sse.NewWriter(w, s.config.StallAfter)}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { stream.KeepAlive(ctx, s.config.CommentEvery, "", cancel) })
	if stream.Position(string(sub.Cursor())) != nil {
		sub.Close()
		return
	}
	if end, ok := s.follow(ctx, sub, stream.frame); ok {
		_ = stream.event("end", "", end) // it was the last thing to say
	}
}

// afterOf returns the cursor that r asks to go on from. A browser that comes
// back repeats the query it began with and adds the id it got to.
func afterOf(r *http.Request) (sessions.Cursor, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", sessions.Errorf(sessions.CodeInvalidRequest, "The query of the URL is malformed.")
	}
	for name, values := range query {
		if name != "after" {
			return "", sessions.InvalidField(strictjson.Pointer("", name), "The query takes only the parameter after.")
		}
		if len(values) > 1 || values[0] == "" {
			return "", sessions.InvalidField(strictjson.Pointer("", name), "The parameter is given once and with a cursor.")
		}
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		return sessions.Cursor(last), nil
	}
	return sessions.Cursor(query.Get("after")), nil
}
