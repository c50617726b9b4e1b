package agentsv1

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// killedClient does one thing after another, as its seed has it.
type killedClient struct {
	*killedOwner
	number int
	rand   *rand.Rand
	made   int
}

func (c *killedClient) work(ctx context.Context, stop <-chan struct{}) {
	for ctx.Err() == nil {
		select {
		case <-stop:
			return
		default:
		}
		c.step(ctx)
	}
}

// token returns a word that is nowhere else.
func (c *killedClient) token() string {
	c.made++
	return fmt.Sprintf("%s-%s-%d-%d.", killsMark, c.name, c.number, c.made)
}

func (c *killedClient) words() string {
	return []string{"plain", "plain", "slowly", "slowly", "look", "look", "both", "tools", "fail"}[c.rand.IntN(9)]
}

// pick returns a session that is not deleted, nil if there is none.
func (c *killedClient) pick() *killedSession {
	all := c.all()
	if len(all) == 0 {
		return nil
	}
	return all[c.rand.IntN(len(all))]
}

func (c *killedClient) step(ctx context.Context) {
	at := c.rand.IntN(100)
	s := c.pick()
	switch {
	case s == nil || at < 18:
		c.create(ctx)
	case at < 42:
		c.locked(s, func() { c.say(ctx, s, false) })
	case at < 48:
		c.locked(s, func() { c.say(ctx, s, true) })
	case at < 54:
		c.cancel(ctx, s)
	case at < 76:
		c.locked(s, func() { c.answer(ctx, s) })
	case at < 82:
		c.locked(s, func() { c.remove(ctx, s) })
	case at < 86:
		c.list(ctx)
	case at < 90:
		c.foreign(ctx)
	case at < 94:
		c.locked(s, func() { c.label(ctx, s) })
	default:
		c.agent(ctx)
	}
}

func (c *killedClient) locked(s *killedSession, do func()) {
	if s.doing.TryLock() {
		defer s.doing.Unlock()
		do()
	}
}

// options are those of a request: the SDK tries again by itself, or does not.
func (c *killedClient) options(key string) (options []option.RequestOption) {
	if key == "" || c.rand.IntN(3) > 0 {
		options = append(options, option.WithMaxRetries(0))
	}
	if key != "" {
		options = append(options, option.WithHeader("Idempotency-Key", key))
	}
	return options
}

// status is that of an answer, 0 when there was none.
func status(err error) int {
	var refused *openai.Error
	switch {
	case err == nil:
		return 200
	case errors.As(err, &refused):
		return refused.StatusCode
	}
	return 0
}

// why is the code and the message of a refusal, else the error itself.
func why(err error) string {
	var refused *openai.Error
	if errors.As(err, &refused) {
		return refused.Code + ": " + refused.Message
	}
	return fmt.Sprint(err)
}

// insist asks until there is an answer other than of a host that stops.
func insist(ctx context.Context, ask func() error) (int, error) {
	for {
		err := ask()
		if n := status(err); n != 0 && n != 503 || ctx.Err() != nil {
			return n, err
		}
		time.Sleep(10 * time.Millisecond) // the host is gone, and comes back
	}
}

func (c *killedClient) create(ctx context.Context) {
	token, key := c.token(), ""
	p := asking(c.words() + " " + token)
	p.Metadata = map[string]string{"owner": c.name, "text": token}
	p.Agent.Instructions = openai.String("Be brief, " + token)
	if c.rand.IntN(4) > 0 {
		key = "create " + token
	}
	message := &killedMessage{token: token}
	s := &killedSession{said: []*killedMessage{message}, results: map[string]bool{}, metadata: token}
	if c.rand.IntN(2) == 0 && key != "" {
		c.createStreaming(ctx, s, p, key)
		return
	}
	ask := func() error {
		made, err := c.sessionsAPI().New(ctx, p, c.options(key)...)
		if err == nil {
			s.id = made.ID
			if made.Metadata["text"] != token {
				c.fault("create of %s answers with %s", token, made.RawJSON())
			}
		}
		return err
	}
	err := ask()
	n := status(err)
	if key != "" && (n == 0 || n == 503) {
		n, err = insist(ctx, ask)
	}
	switch {
	case n == 200:
		c.count("created")
		message.told = true
		c.keep(s)
	case ctx.Err() == nil && n != 0 && n != 503:
		c.fault("create: %v", why(err))
	}
}

func (o *killedOwner) keep(s *killedSession) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sessions = append(o.sessions, s)
}

// say sends a message, instead of the turn under way or beside it, until it is known.
func (c *killedClient) say(ctx context.Context, s *killedSession, instead bool) {
	token, key := c.token(), ""
	if c.rand.IntN(4) > 0 {
		key = "say " + token
	}
	message := &killedMessage{token: token}
	s.mu.Lock()
	gone := s.deleted
	s.said = append(s.said, message)
	s.mu.Unlock()
	p := openai.BetaAgentSessionEventNewParams{Events: saying("", c.words()+" "+token).Events}
	if instead {
		p.Events = slices.Concat(cancelling().Events, p.Events)
		s.withdraw(message)
	}
	ask := func() error { return c.sessionsAPI().Events.New(ctx, s.id, p, c.options(key)...) }
	var n int
	var err error
	if key != "" {
		n, err = insist(ctx, ask)
	} else {
		err = ask()
		n = status(err)
	}
	c.count(fmt.Sprintf("said %t %d", instead, n))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case gone && n != 0 && n != 503 && n != 404:
		c.fault("a message to deleted %s: %d", s.id, n)
	case n == 200:
		message.told = true
	case n == 409 || n == 404:
		message.refused = true
		if !gone && (n == 404 || strings.Contains(why(err), "idempotency")) {
			c.fault("a message to %s: %v", s.id, why(err))
		}
	case ctx.Err() == nil && n != 0 && n != 503:
		c.fault("a message to %s: %v", s.id, why(err))
	}
}

// withdraw notes that a cancel may take messages back, all but one.
func (s *killedSession) withdraw(but *killedMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.said {
		if m != but {
			m.withdrawn = true
		}
	}
}

func (c *killedClient) cancel(ctx context.Context, s *killedSession) {
	key := ""
	if c.rand.IntN(2) == 0 {
		key = "cancel " + c.token()
	}
	s.mu.Lock()
	gone := s.deleted
	s.mu.Unlock()
	s.withdraw(nil)
	ask := func() error {
		s.withdraw(nil)
		return c.sessionsAPI().Events.New(ctx, s.id, cancelling(), c.options(key)...)
	}
	n := status(ask())
	if key != "" && (n == 0 || n == 503) {
		n, _ = insist(ctx, ask)
	}
	s.withdraw(nil) // those that came while it was under way
	c.count(fmt.Sprintf("cancelled %d", n))
	if n != 200 && n != 0 && n != 503 && (n != 404 || !gone && !s.isDeleting()) {
		c.fault("a cancel of %s: %d", s.id, n)
	}
}

func (s *killedSession) isDeleting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleting
}

// answer gives the results that a session waits for, each twice.
func (c *killedClient) answer(ctx context.Context, s *killedSession) {
	got, err := c.sessionsAPI().Get(ctx, s.id, c.options("")...)
	if err != nil {
		c.requireGone(s, status(err))
		return
	}
	if got.Status != "requires_action" {
		return
	}
	if len(got.RequiredActions) == 0 {
		c.fault("%s requires an action and names none", s.id)
	}
	for _, action := range got.RequiredActions {
		call := action.AsFunctionCall()
		token := c.token()
		s.mu.Lock()
		s.results[token] = false
		s.mu.Unlock()
		p := openai.BetaAgentSessionEventNewParams{Events: []openai.AgentSessionInputParamUnion{{
			OfParamAgentSessionInputToolResult: &openai.AgentSessionInputParamAgentSessionInputToolResult{CallID: call.CallID, TurnID: call.TurnID,
				Success: true, Output: openai.AgentFunctionCallOutputParamUnion{OfString: openai.String(token)}}}}}
		first := 0
		for range 2 {
			n, err := insist(ctx, func() error {
				return c.sessionsAPI().Events.New(ctx, s.id, p, c.options("result "+token)...)
			})
			c.count(fmt.Sprintf("answered %d", n))
			unknown := n == 400 && strings.Contains(why(err), "Unknown pending tool call: "+call.CallID)
			if ctx.Err() == nil && n != 200 && !unknown {
				c.fault("a result for %s: %v", s.id, why(err))
			}
			if first == 200 && n != 200 {
				c.fault("a result of %s was taken, its repeat is answered %d", s.id, n)
			}
			first = n
		}
		if first == 200 {
			s.mu.Lock()
			s.results[token] = true
			s.mu.Unlock()
		}
	}
}

func (o *killedOwner) requireGone(s *killedSession, n int) {
	if n != 0 && n != 503 && (n != 404 || !s.isDeleting()) {
		o.fault("%s is answered %d", s.id, n)
	}
}

// remove deletes a session, until the answer is known, and looks at what is left.
func (c *killedClient) remove(ctx context.Context, s *killedSession) {
	s.mu.Lock()
	was := s.deleted
	s.deleting = true
	s.mu.Unlock()
	asked := 0
	n, err := insist(ctx, func() error {
		asked++
		_, err := c.sessionsAPI().Delete(ctx, s.id, c.options("")...)
		return err
	})
	c.count(fmt.Sprintf("deleted %d", n))
	switch {
	case n == 200:
		s.mu.Lock()
		s.deleted = true
		s.mu.Unlock()
		_, err = c.sessionsAPI().Get(ctx, s.id, c.options("")...)
		if n := status(err); n != 404 && n != 0 && n != 503 {
			c.fault("deleted %s is answered %d", s.id, n)
		}
	case n == 409 && !was:
		s.mu.Lock()
		s.deleting = false
		s.mu.Unlock()
	case ctx.Err() == nil:
		c.fault("a delete of %s (deleted: %t): %v", s.id, was, why(err))
	}
}
