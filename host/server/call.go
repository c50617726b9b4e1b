package server

import (
	"context"
	"mime"
	"net/http"
	"strings"
	"sync"

	"agenthost/host/api"
	"agenthost/host/sse"
	"agenthost/sessions"
)

// call serves one request in the body of a POST.
func (s *Server) call(w http.ResponseWriter, r *http.Request, caller api.Caller) {
	body, err := s.readBody(w, r)
	if err != nil {
		s.refuse(w, nil, err)
		return
	}
	request, err := api.DecodeRequest(body)
	if err != nil {
		s.refuse(w, request.ID, err)
		return
	}
	streams := acceptsEvents(r)
	args, err := decodeCall(request, streams)
	if err != nil {
		s.refuse(w, request.ID, err)
		return
	}
	if streams {
		s.callStreaming(w, r, caller, request, args)
		return
	}
	result, err := s.do(r.Context(), caller, request.Op, args, nil)
	if err != nil {
		s.refuse(w, request.ID, orGone(r.Context(), err))
		return
	}
	s.writeReply(w, http.StatusOK, replyTo(request.ID, result, nil))
}

// decodeCall decodes the arguments of a request that has no connection to live
// on. Taking events as the answer asks for the frames there are.
func decodeCall(request api.Request, streams bool) (api.Args, error) {
	args, err := request.DecodeArgs()
	if err != nil {
		return nil, err
	}
	switch args := args.(type) {
	case *api.SubscribeArgs, *api.UnsubscribeArgs:
		return nil, sessions.InvalidField("/op", "A subscription needs a WebSocket, or GET /v1/sessions/{id}/frames.")
	case api.Streamer:
		if args.Streams() && !streams {
			return nil, sessions.InvalidField("/args/stream", "Frames are only sent to a caller with Accept: text/event-stream; add it, or leave stream out.")
		}
		args.SetStreams(streams)
	}
	return args, nil
}

// callStreaming answers with an event stream. What fails before there is a frame
// is answered as if no stream had been asked for.
func (s *Server) callStreaming(w http.ResponseWriter, r *http.Request, caller api.Caller, request api.Request, args api.Args) {
	ctx, cancel := context.WithCancel(r.Context())
	stream := eventStream{sse.NewWriter(w, s.config.StallAfter)}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { stream.KeepAlive(ctx, s.config.CommentEvery, "", cancel) })
	result, err := s.do(ctx, caller, request.Op, args, func(f sessions.Frame) error {
		err := stream.frame(f)
		if err != nil {
			cancel()
		}
		return err
	})
	if err != nil && !stream.Begun() {
		s.refuse(w, request.ID, orGone(r.Context(), err))
		return
	}
	_ = stream.event("reply", "", replyTo(request.ID, result, err)) // it was the last thing to say
}

// acceptsEvents reports whether r asks for server-sent events.
func acceptsEvents(r *http.Request) bool {
	for _, value := range r.Header.Values("Accept") {
		for entry := range strings.SplitSeq(value, ",") {
			media, params, err := mime.ParseMediaType(entry)
			if err == nil && media == "text/event-stream" && params["q"] != "0" {
				return true
			}
		}
	}
	return false
}
