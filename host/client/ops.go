package client

import (
	"context"

	"agenthost/host/api"
)

// Ping asks whether the host answers.
func (c *Client) Ping(ctx context.Context) (*api.PingResult, error) {
	return call[api.PingResult](ctx, c, api.OpPing, api.PingArgs{})
}

// HostInfo describes the host.
func (c *Client) HostInfo(ctx context.Context) (*api.HostInfoResult, error) {
	return call[api.HostInfoResult](ctx, c, api.OpHostInfo, api.HostInfoArgs{})
}

// SessionCreate makes a session, or finds the one there is.
func (c *Client) SessionCreate(ctx context.Context, args api.SessionCreateArgs) (*api.SessionCreateResult, error) {
	return call[api.SessionCreateResult](ctx, c, api.OpSessionCreate, args)
}

// SessionGet shows one session.
func (c *Client) SessionGet(ctx context.Context, args api.SessionGetArgs) (*api.SessionGetResult, error) {
	return call[api.SessionGetResult](ctx, c, api.OpSessionGet, args)
}

// SessionList lists sessions, newest activity first.
func (c *Client) SessionList(ctx context.Context, args api.SessionListArgs) (*api.SessionListResult, error) {
	return call[api.SessionListResult](ctx, c, api.OpSessionList, args)
}

// SessionUpdate changes a session's title or labels.
func (c *Client) SessionUpdate(ctx context.Context, args api.SessionUpdateArgs) (*api.SessionUpdateResult, error) {
	return call[api.SessionUpdateResult](ctx, c, api.OpSessionUpdate, args)
}

// SessionDelete removes a session with everything of it.
func (c *Client) SessionDelete(ctx context.Context, args api.SessionDeleteArgs) (*api.SessionDeleteResult, error) {
	return call[api.SessionDeleteResult](ctx, c, api.OpSessionDelete, args)
}

// SessionClearAll removes every session of the owner.
func (c *Client) SessionClearAll(ctx context.Context, args api.SessionClearAllArgs) (*api.SessionClearAllResult, error) {
	return call[api.SessionClearAllResult](ctx, c, api.OpSessionClearAll, args)
}

// SessionSeed appends a synthetic transcript to a session.
func (c *Client) SessionSeed(ctx context.Context, args api.SessionSeedArgs) (*api.SessionSeedResult, error) {
	return call[api.SessionSeedResult](ctx, c, api.OpSessionSeed, args)
}

// SessionFork copies a conversation into a new session.
func (c *Client) SessionFork(ctx context.Context, args api.SessionForkArgs) (*api.SessionForkResult, error) {
	return call[api.SessionForkResult](ctx, c, api.OpSessionFork, args)
}

// Children lists a session's sub-sessions.
func (c *Client) Children(ctx context.Context, args api.ChildrenArgs) (*api.ChildrenResult, error) {
	return call[api.ChildrenResult](ctx, c, api.OpChildren, args)
}

// Usage sums up what model calls consumed.
func (c *Client) Usage(ctx context.Context, args api.UsageArgs) (*api.UsageResult, error) {
	return call[api.UsageResult](ctx, c, api.OpUsage, args)
}

// Cancel cancels a turn or a side question, or withdraws a queued prompt.
func (c *Client) Cancel(ctx context.Context, args api.CancelArgs) (*api.CancelResult, error) {
	return call[api.CancelResult](ctx, c, api.OpCancel, args)
}

// Answer gives the answer to a call that a turn waits for. It may be repeated.
func (c *Client) Answer(ctx context.Context, args api.AnswerArgs) (*api.AnswerResult, error) {
	return call[api.AnswerResult](ctx, c, api.OpAnswer, args)
}

// SideQuestion asks the model of a session about its conversation, and leaves the
// conversation as it is. A connection that is lost ends the question, which is not
// asked again.
func (c *Client) SideQuestion(ctx context.Context, args api.SideQuestionArgs) (*api.SideQuestionResult, error) {
	return call[api.SideQuestionResult](ctx, c, api.OpSideQuestion, args)
}

// Turns lists a session's turns, newest first.
func (c *Client) Turns(ctx context.Context, args api.TurnsArgs) (*api.TurnsResult, error) {
	return call[api.TurnsResult](ctx, c, api.OpTurns, args)
}

// Messages reads a session's messages.
func (c *Client) Messages(ctx context.Context, args api.MessagesArgs) (*api.MessagesResult, error) {
	return call[api.MessagesResult](ctx, c, api.OpMessages, args)
}

// Frames reads a session's kept frames.
func (c *Client) Frames(ctx context.Context, args api.FramesArgs) (*api.FramesResult, error) {
	return call[api.FramesResult](ctx, c, api.OpFrames, args)
}

// State reads a session's named values.
func (c *Client) State(ctx context.Context, args api.StateArgs) (*api.StateResult, error) {
	return call[api.StateResult](ctx, c, api.OpState, args)
}

// Turn shows one turn, at once or when it has ended.
func (c *Client) Turn(ctx context.Context, args api.TurnArgs) (*api.TurnResult, error) {
	return call[api.TurnResult](ctx, c, api.OpTurn, args)
}

// StateSet stores or removes one of a session's named values.
func (c *Client) StateSet(ctx context.Context, args api.StateSetArgs) (*api.StateSetResult, error) {
	return call[api.StateSetResult](ctx, c, api.OpStateSet, args)
}

// SessionClose closes a session to further prompts.
func (c *Client) SessionClose(ctx context.Context, args api.SessionCloseArgs) (*api.SessionCloseResult, error) {
	return call[api.SessionCloseResult](ctx, c, api.OpSessionClose, args)
}

// SessionDetach frees a session from its turn.
func (c *Client) SessionDetach(ctx context.Context, args api.SessionDetachArgs) (*api.SessionDetachResult, error) {
	return call[api.SessionDetachResult](ctx, c, api.OpSessionDetach, args)
}

// Purge removes the last bytes of what was deleted from the store's files.
func (c *Client) Purge(ctx context.Context, args api.PurgeArgs) (*api.PurgeResult, error) {
	return call[api.PurgeResult](ctx, c, api.OpPurge, args)
}

// KeyCreate makes a key for an owner. The result has the only copy of its secret.
func (c *Client) KeyCreate(ctx context.Context, args api.KeyCreateArgs) (*api.KeyCreateResult, error) {
	return call[api.KeyCreateResult](ctx, c, api.OpKeyCreate, args)
}

// KeyList lists the keys of all owners, oldest first.
func (c *Client) KeyList(ctx context.Context) (*api.KeyListResult, error) {
	return call[api.KeyListResult](ctx, c, api.OpKeyList, api.KeyListArgs{})
}

// KeyRevoke ends a key.
func (c *Client) KeyRevoke(ctx context.Context, args api.KeyRevokeArgs) (*api.KeyRevokeResult, error) {
	return call[api.KeyRevokeResult](ctx, c, api.OpKeyRevoke, args)
}
