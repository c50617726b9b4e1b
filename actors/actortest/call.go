package actortest

import (
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"agenthost/actors"
	"agenthost/actors/feed"
	"agenthost/sessions"
)

// Option changes a prompt before it is sent.
type Option func(*actors.Prompt)

// As gives the prompt a request id instead of a new one.
func As(id sessions.RequestID) Option { return func(p *actors.Prompt) { p.Request.ID = id } }

// Following attaches a stream to the prompt's session.
func Following(stream *feed.Subscription) Option {
	return func(p *actors.Prompt) { p.Stream = stream }
}

// Call is a prompt under way.
type Call struct {
	Prompt *actors.Prompt
	w      *World
	took   chan actors.PromptAccepted
	reply  chan actors.PromptReply
}

// Key is the address of a session with the profile named, or the default one.
func Key(target string, profile ...string) sessions.Address {
	key := sessions.Key{Target: target, Profile: sessions.DefaultProfile}
	if len(profile) > 0 {
		key.Profile = profile[0]
	}
	return sessions.Address{Key: key}
}

// ID is the address of a session by its id.
func ID(id sessions.SessionID) sessions.Address { return sessions.Address{ID: id} }

// Send sends a prompt and does not wait.
func (w *World) Send(at sessions.Address, text string, options ...Option) *Call {
	c := &Call{w: w, took: make(chan actors.PromptAccepted, 1), reply: make(chan actors.PromptReply, 1)}
	c.Prompt = &actors.Prompt{
		Owner: Owner, At: at, Content: sessions.Text(text),
		Request:  sessions.Request{ID: sessions.RequestID(uuid.NewString()), Fingerprint: Fingerprint(at, text)},
		Accepted: c.took, Reply: c.reply,
	}
	for _, o := range options {
		o(c.Prompt)
	}
	w.System.Prompt(c.Prompt)
	return c
}

// Fingerprint is the digest of a prompt's address and text.
func Fingerprint(at sessions.Address, text string) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q", at.String(), text))
}

// Reply waits for the answer to the prompt, from any goroutine. The end of the
// test's context is an answer of INTERNAL.
func (c *Call) Reply() actors.PromptReply {
	r, err := c.w.System.Wait(c.w.T.Context(), c.reply)
	if err != nil {
		r.Err = sessions.AsError(err)
	}
	return r
}

// Accepted waits until the prompt is durable and requires that it becomes so.
func (c *Call) Accepted() actors.PromptAccepted {
	c.w.T.Helper()
	select {
	case a := <-c.took:
		return a
	case r := <-c.reply:
		select {
		case a := <-c.took:
			c.reply <- r
			return a
		default:
			require.FailNow(c.w.T, "the prompt was refused", "%v", r.Err)
		}
	}
	return actors.PromptAccepted{}
}

// Completed waits for the end, requires that the turn completed, and returns
// the text of the answer.
func (c *Call) Completed() string {
	c.w.T.Helper()
	r := c.Reply()
	if r.Err != nil {
		require.FailNow(c.w.T, "the turn did not complete", "%v %v", r.Err, r.Err.Details)
	}
	require.Equal(c.w.T, sessions.TurnIsCompleted, r.Turn.Status)
	require.NotNil(c.w.T, r.Final)
	return sessions.TextOf(r.Final.Content)
}

// Failed waits for the end, requires that it is an error of the code, and
// returns the reply.
func (c *Call) Failed(code sessions.Code) actors.PromptReply {
	c.w.T.Helper()
	r := c.Reply()
	require.NotNil(c.w.T, r.Err, "the turn completed")
	require.Equal(c.w.T, code, r.Err.Code, "%v %v", r.Err, r.Err.Details)
	return r
}

// Say sends a prompt and returns the text of its answer.
func (w *World) Say(at sessions.Address, text string, options ...Option) string {
	w.T.Helper()
	return w.Send(at, text, options...).Completed()
}

// Cancel cancels the session's turn and reports whether it did.
func (w *World) Cancel(at sessions.Address) bool {
	w.T.Helper()
	did, err := w.System.Cancel(w.T.Context(), actors.Cancel{Owner: Owner, At: at})
	require.NoError(w.T, err)
	return did
}

// Delete deletes the session and requires that nothing went wrong.
func (w *World) Delete(at sessions.Address) actors.DeleteReply {
	w.T.Helper()
	r, err := w.System.Delete(w.T.Context(), actors.Delete{Owner: Owner, At: at})
	require.NoError(w.T, err)
	return r
}

// Deleting asks for the delete of the session, and returns where its answer comes.
func (w *World) Deleting(at sessions.Address) <-chan actors.DeleteReply {
	reply := make(chan actors.DeleteReply, 1)
	w.System.ActorSystem().Root.Send(w.System.Root(), &actors.Delete{Owner: Owner, At: at, Reply: reply})
	return reply
}
