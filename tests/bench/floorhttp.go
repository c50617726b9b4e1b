package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// floorServer is the least HTTP server with a durable accept: it decodes, stores
// the prompt, stores the answer and replies.
type floorServer struct {
	f        *floor
	mu       sync.Mutex
	sessions map[string]*floorSession
}

// serveFloor serves the floor.
func serveFloor(ctx context.Context, file string, listener net.Listener) (end func() error, err error) {
	f, err := openFloor(ctx, file)
	if err != nil {
		return nil, err
	}
	s := &floorServer{f: f, sessions: map[string]*floorSession{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/call", s.call)
	hs := &http.Server{Handler: mux}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(listener) }()
	return func() error {
		err := hs.Shutdown(ctx)
		if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
			err = errors.Join(err, failed)
		}
		return errors.Join(err, f.close())
	}, nil
}

// floorCall is the request that the host takes too.
type floorCall struct {
	Op   string `json:"op"`
	Args struct {
		TargetKey string `json:"targetKey"`
		Text      string `json:"text"`
		RequestID string `json:"requestId"`
	} `json:"args"`
}

type floorReply struct {
	OK     bool `json:"ok"`
	Result struct {
		TurnID  string       `json:"turnId"`
		Message floorMessage `json:"message"`
	} `json:"result"`
}

func (s *floorServer) call(w http.ResponseWriter, r *http.Request) {
	reply, err := s.turn(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // a client that has gone away reads no error
}

func (s *floorServer) turn(w http.ResponseWriter, r *http.Request) (floorReply, error) {
	var reply floorReply
	var call floorCall
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return reply, err
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return reply, err
	}
	session, err := s.session(call.Args.TargetKey)
	if err != nil {
		return reply, err
	}
	fingerprint := sha256.Sum256([]byte(call.Args.Text))
	t, err := session.accept(call.Args.RequestID, call.Args.Text, fingerprint[:])
	if err != nil {
		return reply, err
	}
	if r.Header.Get("Accept") == "text/event-stream" {
		if err := writeFirstEvent(w); err != nil {
			return reply, err
		}
	}
	if err := t.end(answerText); err != nil {
		return reply, err
	}
	reply.OK = true
	reply.Result.TurnID = t.id
	reply.Result.Message = floorMessage{"assistant", []floorText{{"text", answerText}}, t.id}
	return reply, nil
}

// writeFirstEvent tells a streaming client at once that its prompt is durable.
func writeFirstEvent(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/event-stream")
	if _, err := io.WriteString(w, "event: frame\ndata: {\"type\":\"accepted\"}\n\n"); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

func (s *floorServer) session(key string) (*floorSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.sessions[key]
	if known == nil {
		made, err := s.f.newSession(key)
		if err != nil {
			return nil, err
		}
		s.sessions[key], known = made, made
	}
	return known, nil
}
