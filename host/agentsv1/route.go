package agentsv1

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"agenthost/host/api"
	"agenthost/sessions"
)

// named is what a path names.
type named struct {
	agent    string
	at       api.Address        // of the session, or of the subagent whose history is asked for
	subagent sessions.SessionID // "" for none
	turn     sessions.TurnID
}

// route is one operation. A segment of its pattern in braces stands for a name. The
// query of the URL has no other parameters than those listed.
type route struct {
	method, pattern string
	query           []string
	serve           func(*visit, named) error
}

// routes are all operations. Whatever else is asked for is not offered.
var routes = []route{
	{http.MethodGet, "/openapi.yaml", nil, (*visit).openAPI},
	{http.MethodGet, "", paging, (*visit).listAgents},
	{http.MethodPost, "", nil, (*visit).createAgent},
	{http.MethodGet, "/{agent}", nil, (*visit).getAgent},
	{http.MethodPost, "/{agent}", nil, (*visit).updateAgent},
	{http.MethodDelete, "/{agent}", nil, (*visit).deleteAgent},
	{http.MethodGet, "/sessions", filters, (*visit).listSessions},
	{http.MethodPost, "/sessions", nil, (*visit).createSession},
	{http.MethodGet, "/sessions/{session}", nil, (*visit).getSession},
	{http.MethodPost, "/sessions/{session}", nil, (*visit).updateSession},
	{http.MethodDelete, "/sessions/{session}", nil, (*visit).deleteSession},
	{http.MethodGet, "/sessions/{session}/events", nil, (*visit).streamEvents},
	{http.MethodPost, "/sessions/{session}/events", nil, (*visit).postEvents},
	{http.MethodGet, "/sessions/{session}/items", paging, (*visit).listItems},
	{http.MethodGet, "/sessions/{session}/turns", paging, (*visit).listTurns},
	{http.MethodGet, "/sessions/{session}/turns/{turn}", nil, (*visit).getTurn},
	{http.MethodGet, "/sessions/{session}/turns/{turn}/items", paging, (*visit).listTurnItems},
	{http.MethodGet, "/sessions/{session}/subagents", paging, (*visit).listSubagents},
	{http.MethodGet, "/sessions/{session}/subagents/{subagent}", nil, (*visit).getSubagent},
	{http.MethodGet, "/sessions/{session}/subagents/{subagent}/items", paging, ofSubagent((*visit).listItems)},
	{http.MethodGet, "/sessions/{session}/subagents/{subagent}/turns", paging, ofSubagent((*visit).listTurns)},
	{http.MethodGet, "/sessions/{session}/subagents/{subagent}/turns/{turn}", nil, ofSubagent((*visit).getTurn)},
	{http.MethodGet, "/sessions/{session}/subagents/{subagent}/turns/{turn}/items", paging, ofSubagent((*visit).listTurnItems)},
}

// reserved are no agents' names: what else is there below Path, and the parts of the
// beta that this host does not offer.
var reserved = []string{"automations", "environments", "openapi.yaml", "sessions", "vaults"}

// ofSubagent serves the history of a subagent as that of a session.
func ofSubagent(serve func(*visit, named) error) func(*visit, named) error {
	return func(v *visit, n named) (err error) {
		if n.at, err = v.child(n.at, n.subagent); err != nil {
			return err
		}
		return serve(v, n)
	}
}

// route finds the operation by method and path, and runs it.
func (v *visit) route() (err error) {
	rest, ok := strings.CutPrefix(v.r.URL.EscapedPath(), Path)
	if !ok {
		return unsupported()
	}
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		name, err := url.PathUnescape(part)
		if err != nil {
			return notFound()
		}
		parts[i] = name
	}
	for _, r := range routes {
		if r.method != v.r.Method {
			continue
		}
		if n, ok := r.match(parts); ok {
			if v.query, err = queryOf(v.r.URL, r.query); err != nil {
				return err
			}
			err := r.serve(v, n)
			if n.at.SessionID != "" && err != nil && problemOf(err).Code == typeNotFound {
				v.access.NoteMissing(v.ctx(), n.at.SessionID, "agents "+v.r.Method)
			}
			return err
		}
	}
	return unsupported()
}

// match reads what the parts of a path name, if it is the route's.
func (r route) match(parts []string) (n named, ok bool) {
	pattern := strings.Split(r.pattern, "/")
	if len(pattern) != len(parts) {
		return n, false
	}
	for i, part := range parts {
		switch pattern[i] {
		case "{agent}":
			if slices.Contains(reserved, part) {
				return n, false
			}
			n.agent = part
		case "{session}":
			n.at.SessionID = sessions.SessionID(part)
		case "{subagent}":
			n.subagent = sessions.SessionID(part)
		case "{turn}":
			n.turn = sessions.TurnID(part)
		case part:
		default:
			return n, false
		}
	}
	return n, true
}

// session returns the session that a path names; whatever is wrong with its id is
// the same to the caller.
func (v *visit) session(at api.Address) (sessions.Session, error) {
	if sessions.CheckSessionID("", at.SessionID) != nil {
		return sessions.Session{}, notFound()
	}
	got, err := v.access.SessionGet(v.ctx(), &api.SessionGetArgs{Address: at})
	if err != nil {
		return sessions.Session{}, err
	}
	return got.Session, nil
}

// reply answers with a value.
func (v *visit) reply(value any) error {
	writeJSON(v.w, http.StatusOK, value, v.config.StallAfter)
	return nil
}
