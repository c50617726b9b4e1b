package agentsv1

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/tidwall/gjson"
)

// label changes a session's metadata.
func (c *killedClient) label(ctx context.Context, s *killedSession) {
	token := c.token()
	n, err := insist(ctx, func() error {
		_, err := c.sessionsAPI().Update(ctx, s.id, openai.BetaAgentSessionUpdateParams{Metadata: map[string]string{"owner": c.name, "text": token}}, c.options("")...)
		return err
	})
	if n == 200 {
		s.mu.Lock()
		s.metadata = token
		s.mu.Unlock()
		return
	}
	if !s.isDeleting() && ctx.Err() == nil {
		c.fault("an update of %s: %v", s.id, why(err))
	}
}

// list pages through the sessions, which has all that were there before and after.
func (c *killedClient) list(ctx context.Context) {
	before := c.all()
	got := map[string]bool{}
	order := openai.BetaAgentSessionListParamsOrder([]string{"asc", "desc"}[c.rand.IntN(2)])
	pager := c.sessionsAPI().ListAutoPaging(ctx, openai.BetaAgentSessionListParams{Limit: openai.Int(int64(1 + c.rand.IntN(30))), Order: order}, c.options("")...)
	for pager.Next() {
		s := pager.Current()
		if got[s.ID] {
			c.fault("%s is listed twice", s.ID)
		}
		if got[s.ID] = true; s.Metadata["owner"] != c.name {
			c.fault("%s sees %s", c.name, s.RawJSON())
		}
	}
	if err := pager.Err(); err != nil {
		if n := status(err); n != 0 && n != 503 {
			c.fault("a list: %v", why(err))
		}
		return
	}
	c.count("listed")
	for _, s := range before {
		if !got[s.id] && !s.isDeleting() {
			c.fault("%s is not listed", s.id)
		}
	}
}

// foreign looks for what another owner has.
func (c *killedClient) foreign(ctx context.Context) {
	for _, other := range c.owners {
		theirs := other.all()
		if other == c.killedOwner || len(theirs) == 0 {
			continue
		}
		id := theirs[c.rand.IntN(len(theirs))].id
		_, err := c.sessionsAPI().Get(ctx, id, c.options("")...)
		_, again := c.sessionsAPI().Delete(ctx, id, c.options("")...)
		said := c.sessionsAPI().Events.New(ctx, id, saying("foreign "+c.token(), "plain "+killsMark), c.options("")...)
		for _, err := range []error{err, again, said} {
			if n := status(err); n != 404 && n != 0 && n != 503 {
				c.fault("%s has access to %s of %s: %d", c.name, id, other.name, n)
			}
		}
	}
}

// agent makes, changes, or deletes a saved agent.
func (c *killedClient) agent(ctx context.Context) {
	agents := &c.client.Beta.Agents
	token := c.token()
	var made *openai.Agent
	n, err := insist(ctx, func() (err error) {
		made, err = agents.New(ctx, openai.BetaAgentNewParams{Model: "default", Name: openai.String(token), Instructions: openai.String("Say " + token)}, c.options("agent "+token)...)
		return err
	})
	if n != 200 {
		if ctx.Err() == nil {
			c.fault("an agent is not made: %v", why(err))
		}
		return
	}
	name := token
	if c.rand.IntN(2) == 0 {
		name = c.token()
		n, err = insist(ctx, func() error {
			_, err := agents.Update(ctx, made.ID, openai.BetaAgentUpdateParams{Name: openai.String(name)}, c.options("")...)
			return err
		})
	}
	if c.rand.IntN(3) == 0 && n == 200 {
		name = ""
		n, err = insist(ctx, func() error {
			_, err := agents.Delete(ctx, made.ID, c.options("")...)
			return err
		})
	}
	if n != 200 && ctx.Err() == nil {
		c.fault("an agent is not changed: %v", why(err))
	}
	c.count("agents")
	c.mu.Lock()
	c.agents[made.ID] = name
	c.mu.Unlock()
}

// createStreaming makes a session whose events are followed from the first on.
func (c *killedClient) createStreaming(ctx context.Context, s *killedSession, p openai.BetaAgentSessionNewParams, key string) {
	body, err := json.Marshal(p)
	if err != nil {
		c.fault("%v", err)
		return
	}
	text := strings.TrimSuffix(string(body), "}") + `,"stream":true}`
	f := &killedFollower{owner: c.killedOwner, session: s, create: text, key: key, rand: rand.New(rand.NewPCG(c.rand.Uint64(), 0))}
	created := make(chan struct{})
	c.following.Go(func() { f.follow(ctx, created) })
	select {
	case <-created:
	case <-ctx.Done():
		return
	}
	s.id = gjson.Get(f.first.data, "session.id").String()
	s.said[0].told = true
	s.followers = []*killedFollower{f}
	c.count("created by stream")
	c.keep(s)
}
