package agentsv1

import (
	"encoding/json"
	"net/http"
	"strings"

	"agenthost/host/api"
	"agenthost/sessions"
)

func (v *visit) getSession(n named) error {
	s, err := v.session(n.at)
	if err != nil {
		return err
	}
	view, err := viewSession(v.ctx(), v.access, s)
	if err != nil {
		return err
	}
	return v.reply(view)
}

// listSessions lists the sessions that are nobody's subagents, in the order of
// their ids, which grow with time. So no session comes twice in one walk, whatever
// is done to the sessions meanwhile, and after may name one that is gone.
func (v *visit) listSessions(named) error {
	q, err := v.page()
	if err != nil {
		return err
	}
	args := &api.SessionListArgs{ByID: true, Ascending: q.ascending, Cursor: q.after, Limit: &q.limit,
		ParentID: api.Null[sessions.SessionID](), Label: map[string]string{}, AnyLabel: true}
	switch id := v.query.Get("agent_id"); {
	case isSavedAgent(id):
		args.AgentID = new(sessions.AgentID(id))
	case id != "":
		args.ProfileKey, args.AgentID = id, new(sessions.AgentID(""))
	}
	for name := range v.query {
		if key, ok := strings.CutPrefix(name, "metadata["); ok {
			args.Label[strings.TrimSuffix(key, "]")] = v.query.Get(name)
		}
	}
	if err := checkMetadata(args.Label); err != nil {
		return err
	}
	views, more, err := v.sessionPage(args)
	if err != nil {
		return err
	}
	return v.reply(listOf(views, more))
}

// sessionPage returns the sessions of a page, and whether there are more behind them.
// One that is deleted while the page is made is not on it; a page is only empty when
// there are no more, since clients end their walk there.
func (v *visit) sessionPage(args *api.SessionListArgs) (views []sessionView, more bool, err error) {
	for {
		got, err := v.access.SessionList(v.ctx(), args)
		if err != nil {
			return nil, false, err
		}
		var size int64
		for i, s := range got.Sessions {
			view, err := viewSession(v.ctx(), v.access, s)
			switch sessions.CodeOf(err) {
			case "":
			case sessions.CodeSessionNotFound, sessions.CodeSessionDeleted:
				continue
			default:
				return nil, false, err
			}
			views = append(views, view)
			if size += view.Agent.bytes(); size > v.pageBytes() {
				return views, got.NextCursor != "" || i+1 < len(got.Sessions), nil
			}
		}
		if len(views) > 0 || got.NextCursor == "" {
			return views, got.NextCursor != "", nil
		}
		args.Cursor = got.NextCursor
	}
}

// updateBody changes a session.
type updateBody struct {
	Metadata           api.Nullable[map[string]string] `json:"metadata"`
	Agent              json.RawMessage                 `json:"agent"`
	Review             string                          `json:"review" strict:"nonempty"`
	PromptCacheOptions json.RawMessage                 `json:"prompt_cache_options"`
	SpendControl       json.RawMessage                 `json:"spend_control"`
}

// updateSession changes a session's metadata, whatever the session is doing.
func (v *visit) updateSession(n named) error {
	at := n.at
	object, err := v.body()
	if err != nil {
		return err
	}
	var body updateBody
	if err := decode(object, "", &body); err != nil {
		return err
	}
	if present(body.Agent) {
		return invalid("agent", "A session's agent stays as it was made; make another session.")
	}
	if err := refuse(map[string]bool{
		"review":               body.Review != "" && body.Review != "none",
		"prompt_cache_options": present(body.PromptCacheOptions),
		"spend_control":        present(body.SpendControl),
	}); err != nil {
		return err
	}
	if body.Metadata.IsZero() {
		return v.getSession(n)
	}
	metadata, _ := body.Metadata.Value()
	if metadata == nil {
		metadata = map[string]string{}
	}
	if err := checkMetadata(metadata); err != nil {
		return err
	}
	if sessions.CheckSessionID("", at.SessionID) != nil {
		return notFound()
	}
	s, err := v.access.SessionRelabel(v.ctx(), at, metadata)
	if err != nil {
		return err
	}
	view, err := viewSession(v.ctx(), v.access, s)
	if err != nil {
		return err
	}
	return v.reply(view)
}

// deletedView says that a session is gone.
type deletedView struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

const messageUnsettled = "session must be durably idle or failed without required actions before deletion"

// deleteSession removes a session that is settled. To whoever has deleted it before
// the answer is the same again, and nothing is written.
func (v *visit) deleteSession(n named) error {
	at := n.at
	s, err := v.session(at)
	switch code := sessions.CodeOf(err); {
	case code == sessions.CodeSessionNotFound:
		return v.deletedBefore(at.SessionID)
	case err != nil:
		return err
	}
	if unsettled(s) {
		return conflict(typeConflict, messageUnsettled)
	}
	got, err := v.access.SessionDelete(v.ctx(), &api.SessionDeleteArgs{Address: at, OnlySettled: true})
	switch {
	case sessions.CodeOf(err) == sessions.CodeConflict:
		return conflict(typeConflict, messageUnsettled)
	case err != nil:
		return err
	case !got.Deleted:
		return v.deletedBefore(at.SessionID)
	}
	return v.reply(deletedView{string(at.SessionID), "agent.session.deleted", true})
}

// unsettled spares the host a delete that it would refuse.
func unsettled(s sessions.Session) bool { return s.ActiveTurn != nil || s.Queued > 0 }

func (v *visit) deletedBefore(id sessions.SessionID) error {
	gone, err := v.access.SessionDeleted(v.ctx(), id)
	switch {
	case err != nil:
		return err
	case !gone:
		return notFound()
	}
	writeJSON(v.w, http.StatusOK, deletedView{string(id), "agent.session.deleted", true}, v.config.StallAfter)
	return nil
}
